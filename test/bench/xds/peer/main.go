// A discovery server of go-control-plane with the benchmark's services, told what changes on standard input:
// what relay-process.ts is for ours. `linear`: a LinearCache for each type, its cheapest; `snapshot`: one
// snapshot for all clients, made anew for each batch of changes.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type command struct {
	Kind     string            `json:"kind"`
	Services int               `json:"services"`
	Changes  []json.RawMessage `json:"changes"`
}

type figures struct {
	CPUMs      float64 `json:"cpuMs"`
	ResidentMb float64 `json:"residentMb"`
	Streams    int64   `json:"streams"`
	Names      int64   `json:"names"`
}

// What both kinds of cache do.
type state interface {
	cache.Cache
	fill(clusters, assignments map[string]types.Resource) error
	change(assignments map[string]types.Resource) error
}

type linear struct {
	cache.MuxCache
	clusters, assignments *cache.LinearCache
}

func newLinear() *linear {
	clusters, assignments := cache.NewLinearCache(resource.ClusterType), cache.NewLinearCache(resource.EndpointType)
	return &linear{
		MuxCache: cache.MuxCache{
			Classify:      func(r *cache.Request) string { return r.GetTypeUrl() },
			ClassifyDelta: func(r *cache.DeltaRequest) string { return r.GetTypeUrl() },
			Caches:        map[string]cache.Cache{resource.ClusterType: clusters, resource.EndpointType: assignments},
		},
		clusters: clusters, assignments: assignments,
	}
}

func (l *linear) fill(clusters, assignments map[string]types.Resource) error {
	l.clusters.SetResources(clusters)
	l.assignments.SetResources(assignments)
	return nil
}

func (l *linear) change(assignments map[string]types.Resource) error {
	return l.assignments.UpdateResources(assignments, nil)
}

type snapshot struct {
	cache.SnapshotCache
	clusters, assignments map[string]types.Resource
	version               int
}

// Every client is of one node group: its snapshot is made and compared once.
type oneGroup struct{}

func (oneGroup) ID(*core.Node) string { return "all" }

func (s *snapshot) fill(clusters, assignments map[string]types.Resource) error {
	s.clusters, s.assignments = clusters, assignments
	return s.set()
}

func (s *snapshot) change(assignments map[string]types.Resource) error {
	for name, one := range assignments {
		s.assignments[name] = one
	}
	return s.set()
}

func (s *snapshot) set() error {
	s.version++
	made, err := cache.NewSnapshot(strconv.Itoa(s.version), map[resource.Type][]types.Resource{
		resource.ClusterType:  values(s.clusters),
		resource.EndpointType: values(s.assignments),
	})
	if err != nil {
		return err
	}
	return s.SetSnapshot(context.Background(), "all", made)
}

func values(of map[string]types.Resource) []types.Resource {
	all := make([]types.Resource, 0, len(of))
	for _, one := range of {
		all = append(all, one)
	}
	return all
}

func nameOf(service string) string { return service + ".n.svc.cluster.local:80" }

func addressOf(change int) string {
	return fmt.Sprintf("10.%d.%d.%d", (change>>16)&255, (change>>8)&255, change&255)
}

func assignmentOf(service string, change int) types.Resource {
	locality := &endpoint.LocalityLbEndpoints{
		Locality:            &core.Locality{Zone: "a"},
		LoadBalancingWeight: wrapperspb.UInt32(3),
	}
	for _, address := range []string{addressOf(change), "10.255.0.1", "10.255.0.2"} {
		socket := &core.SocketAddress{
			Address:       address,
			PortSpecifier: &core.SocketAddress_PortValue{PortValue: 8080},
		}
		at := &core.Address{Address: &core.Address_SocketAddress{SocketAddress: socket}}
		locality.LbEndpoints = append(locality.LbEndpoints, &endpoint.LbEndpoint{
			HostIdentifier:      &endpoint.LbEndpoint_Endpoint{Endpoint: &endpoint.Endpoint{Address: at}},
			HealthStatus:        core.HealthStatus_HEALTHY,
			LoadBalancingWeight: wrapperspb.UInt32(1),
		})
	}
	return &endpoint.ClusterLoadAssignment{
		ClusterName: nameOf(service),
		Endpoints:   []*endpoint.LocalityLbEndpoints{locality},
	}
}

func clusterOf(service string) types.Resource {
	fromThisStream := &core.ConfigSource{
		ResourceApiVersion:    core.ApiVersion_V3,
		ConfigSourceSpecifier: &core.ConfigSource_Ads{Ads: &core.AggregatedConfigSource{}},
	}
	return &cluster.Cluster{
		Name:                 nameOf(service),
		ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_EDS},
		EdsClusterConfig:     &cluster.Cluster_EdsClusterConfig{EdsConfig: fromThisStream},
		ConnectTimeout:       durationpb.New(5 * time.Second),
	}
}

func fill(to state, services int) error {
	clusters, assignments := map[string]types.Resource{}, map[string]types.Resource{}
	add := func(service string) {
		clusters[nameOf(service)] = clusterOf(service)
		assignments[nameOf(service)] = assignmentOf(service, 0)
	}
	for i := range services {
		add("s" + strconv.Itoa(i))
	}
	add("hot")
	return to.fill(clusters, assignments)
}

func changed(to state, changes []json.RawMessage) error {
	assignments := map[string]types.Resource{}
	for _, one := range changes {
		var service string
		var number int
		if err := json.Unmarshal(one, &[]any{&service, &number}); err != nil {
			return err
		}
		assignments[nameOf(service)] = assignmentOf(service, number)
	}
	return to.change(assignments)
}

var streams atomic.Int64

func measured() figures {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	cpu := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	statm, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.Atoi(strings.Fields(string(statm) + " 0 0")[1])
	return figures{
		CPUMs:      float64(cpu.Microseconds()) / 1000,
		ResidentMb: float64(pages*os.Getpagesize()) / (1 << 20),
		Streams:    streams.Load(),
	}
}

func main() {
	var all state = newLinear()
	if len(os.Args) > 1 && os.Args[1] == "snapshot" {
		all = &snapshot{SnapshotCache: cache.NewSnapshotCache(false, oneGroup{}, nil)}
	}
	counted := server.CallbackFuncs{
		DeltaStreamOpenFunc:   func(context.Context, int64, string) error { streams.Add(1); return nil },
		DeltaStreamClosedFunc: func(int64, *core.Node) { streams.Add(-1) },
	}
	ads := server.NewServer(context.Background(), all, counted)
	grpcServer := grpc.NewServer(grpc.MaxConcurrentStreams(1000))
	discovery.RegisterAggregatedDiscoveryServiceServer(grpcServer, ads)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var asked command
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		var answer any
		switch asked.Kind {
		case "start":
			err = fill(all, asked.Services)
			go func() { _ = grpcServer.Serve(listener) }()
			answer = listener.Addr().(*net.TCPAddr).Port
		case "change":
			err = changed(all, asked.Changes)
		case "figures":
			answer = measured()
		}
		if err != nil {
			panic(err)
		}
		text, _ := json.Marshal(map[string]any{"answer": answer})
		fmt.Println(string(text))
	}
}
