// A program in place of an API server in this process: for Kubernetes' test/integration (steps.md beside it).
package testing

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/pflag"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	restclient "k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// ProcessLogger is what a test offers.
type ProcessLogger interface {
	Logf(format string, args ...interface{})
}

// Flags that StartProcess sets itself from the options, so that a caller's are left out.
var ownFlags = map[string]bool{
	"secure-port": true, "bind-address": true, "cert-dir": true, "tls-cert-file": true, "tls-private-key-file": true,
	"token-auth-file": true, "client-ca-file": true, "service-account-signing-key-file": true,
	"service-account-key-file": true, "service-account-issuer": true, "service-cluster-ip-range": true,
	"requestheader-client-ca-file": true, "requestheader-allowed-names": true, "requestheader-username-headers": true,
	"requestheader-uid-headers": true, "requestheader-group-headers": true, "requestheader-extra-headers-prefix": true,
	"proxy-client-cert-file": true, "proxy-client-key-file": true, "authorization-mode": true,
	"etcd-servers": true, "etcd-prefix": true, "feature-gates": true, "external-hostname": true, "api-audiences": true,
}

// ChangedFlags lists the flags whose values differ from a new server's.
func ChangedFlags(s *options.ServerRunOptions) []string {
	before := map[string]string{}
	for _, set := range options.NewServerRunOptions().Flags().FlagSets {
		set.VisitAll(func(f *pflag.Flag) { before[f.Name] = f.Value.String() })
	}
	var changed []string
	for _, set := range s.Flags().FlagSets {
		set.VisitAll(func(f *pflag.Flag) {
			// A slice is printed in brackets and read without.
			value := f.Value.String()
			if value == before[f.Name] || ownFlags[f.Name] {
				return
			}
			if slice, ok := f.Value.(pflag.SliceValue); ok {
				value = strings.Join(slice.GetSlice(), ",")
			}
			if strings.HasPrefix(f.Name, "goaway") || strings.HasPrefix(f.Name, "emulat") {
				return
			}
			changed = append(changed, "--"+f.Name+"="+value)
		})
	}
	sort.Strings(changed)
	return changed
}

func kept(flags []string) []string {
	var rest []string
	for i := 0; i < len(flags); i++ {
		// Some tests pass an empty flag.
		if flags[i] == "" {
			continue
		}
		name, _, joined := strings.Cut(strings.TrimLeft(flags[i], "-"), "=")
		if ownFlags[name] {
			if !joined && i+1 < len(flags) && !strings.HasPrefix(flags[i+1], "-") {
				i++
			}
			continue
		}
		rest = append(rest, flags[i])
	}
	return rest
}

// StartProcess starts the program of KUBE_APISERVER with the options and waits until it is ready.
func StartProcess(t ProcessLogger, ctx context.Context, s *options.ServerRunOptions, customFlags []string) (*restclient.Config, func(), error) {
	program := os.Getenv("KUBE_APISERVER")
	dir, err := os.MkdirTemp("", "integration-process")
	if err != nil {
		return nil, nil, err
	}
	port := s.SecureServing.Listener.Addr().(*net.TCPAddr).Port
	s.SecureServing.Listener.Close()
	s.SecureServing.Listener = nil
	token := uuid.New().String()
	tokens := filepath.Join(dir, "tokens.csv")
	lines := []byte{}
	if s.Authentication.TokenFile != nil && s.Authentication.TokenFile.TokenFile != "" {
		if lines, err = os.ReadFile(s.Authentication.TokenFile.TokenFile); err != nil {
			return nil, nil, err
		}
		lines = append(lines, '\n')
	}
	lines = append(lines, []byte(token+",system:apiserver,"+token+",system:masters\n")...)
	if err := os.WriteFile(tokens, lines, 0600); err != nil {
		return nil, nil, err
	}
	args := []string{
		fmt.Sprintf("--secure-port=%d", port), "--bind-address=127.0.0.1", "--token-auth-file=" + tokens,
		"--tls-cert-file=" + s.SecureServing.ServerCert.CertKey.CertFile,
		"--tls-private-key-file=" + s.SecureServing.ServerCert.CertKey.KeyFile,
		"--service-account-signing-key-file=" + s.ServiceAccountSigningKeyFile,
	}
	for _, file := range s.Authentication.ServiceAccounts.KeyFiles {
		args = append(args, "--service-account-key-file="+file)
	}
	for _, issuer := range s.Authentication.ServiceAccounts.Issuers {
		args = append(args, "--service-account-issuer="+issuer)
	}
	add := func(name, value string) {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	add("service-cluster-ip-range", s.ServiceClusterIPRanges)
	add("authorization-mode", strings.Join(s.Authorization.Modes, ","))
	add("api-audiences", strings.Join(s.Authentication.APIAudiences, ","))
	if s.Authentication.ClientCert != nil {
		add("client-ca-file", s.Authentication.ClientCert.ClientCA)
	}
	if r := s.Authentication.RequestHeader; r != nil {
		add("requestheader-client-ca-file", r.ClientCAFile)
		add("requestheader-allowed-names", strings.Join(r.AllowedNames, ","))
		add("requestheader-username-headers", strings.Join(r.UsernameHeaders, ","))
		add("requestheader-uid-headers", strings.Join(r.UIDHeaders, ","))
		add("requestheader-group-headers", strings.Join(r.GroupHeaders, ","))
		add("requestheader-extra-headers-prefix", strings.Join(r.ExtraHeaderPrefixes, ","))
	}
	add("proxy-client-cert-file", s.ProxyClientCertFile)
	add("proxy-client-key-file", s.ProxyClientKeyFile)
	args = append(args, kept(customFlags)...)
	if os.Getenv("INTEGRATION_STORE") == "own" {
		args = append(args, "--data-dir="+filepath.Join(dir, "data"))
	} else {
		args = append(args, "--etcd-servers="+strings.Join(s.Etcd.StorageConfig.Transport.ServerList, ","), "--etcd-prefix="+s.Etcd.StorageConfig.Prefix)
	}
	var gates []string
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		if now := utilfeature.DefaultFeatureGate.Enabled(name); now != spec.Default {
			gates = append(gates, fmt.Sprintf("%s=%v", name, now))
		}
	}
	sort.Strings(gates)
	if len(gates) > 0 {
		if os.Getenv("INTEGRATION_GATES") == "pass" {
			args = append(args, "--feature-gates="+strings.Join(gates, ","))
		} else {
			t.Logf("harness: feature gates not passed on: %s", strings.Join(gates, ","))
		}
	}
	logPath := filepath.Join(dir, "log")
	out, err := os.Create(logPath)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	gone := make(chan struct{})
	go func() { _ = cmd.Wait(); close(gone) }()
	var once sync.Once
	stop := func() {
		once.Do(func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
			select {
			case <-gone:
			case <-time.After(5 * time.Second):
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				<-gone
			}
			out.Close()
			if text, _ := os.ReadFile(logPath); len(text) > 0 && os.Getenv("INTEGRATION_LOG") != "" {
				t.Logf("harness: log of the server:\n%s", text)
			}
			os.RemoveAll(dir)
		})
	}
	ca, err := os.ReadFile(s.SecureServing.ServerCert.CertKey.CertFile)
	if err != nil {
		stop()
		return nil, nil, err
	}
	config := &restclient.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", port), BearerToken: token,
		TLSClientConfig: restclient.TLSClientConfig{CAData: ca},
		QPS: 1000, Burst: 10000,
	}
	if err := waitReady(config, gone); err != nil {
		text, _ := os.ReadFile(logPath)
		stop()
		return nil, nil, fmt.Errorf("%w: %s", err, lastOf(string(text)))
	}
	return config, stop, nil
}

func lastOf(text string) string {
	if len(text) > 1500 {
		return text[len(text)-1500:]
	}
	return text
}

func waitReady(config *restclient.Config, gone <-chan struct{}) error {
	transport, err := restclient.TransportFor(config)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	until := time.Now().Add(time.Minute)
	for time.Now().Before(until) {
		ready := true
		for _, path := range []string{"/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"} {
			response, err := client.Get(config.Host + path)
			if err != nil {
				ready = false
				break
			}
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
			ready = ready && response.StatusCode == http.StatusOK
		}
		if ready {
			return nil
		}
		select {
		case <-gone:
			return fmt.Errorf("harness: the server ended")
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fmt.Errorf("harness: the server is not ready")
}
