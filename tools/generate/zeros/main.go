// Derives, from upstream's Go types, what their JSON does with the zero value of each field.
//
//	go mod tidy
//	go run . facts ../../../src/core/api/gen/schema.json > ../overlay/zeros.txt
//	go run . answers ../../../src/core/api/gen/schema.json > ../../../src/core/api/schema/testdata/zeros.txt
//
// facts    one line per definition, `<definition> <field><flags> ...`: `*` a pointer, `!` never left out,
//          `*!` both; a field that is not named is left out when it is zero.
// answers  one line per definition: its name, and what Go makes of `{}` and of an object in which each field
//          has its zero, through protobuf where the type has such a form.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Structs that marshal themselves, with a zero that they can read; none: it is not tried.
var leaves = map[reflect.Type]any{
	reflect.TypeFor[metav1.Time]():                                nil,
	reflect.TypeFor[metav1.MicroTime]():                           nil,
	reflect.TypeFor[metav1.Duration]():                            nil,
	reflect.TypeFor[resource.Quantity]():                          "0",
	reflect.TypeFor[intstr.IntOrString]():                         0,
	reflect.TypeFor[runtime.RawExtension]():                       nil,
	reflect.TypeFor[metav1.FieldsV1]():                            nil,
	reflect.TypeFor[apiextensions.JSON]():                         nil,
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrArray]():       nil,
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrBool]():        nil,
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrStringArray](): nil,
}

type field struct {
	name, flags string
	of          reflect.Type
}

var types = map[string]reflect.Type{}

func main() {
	must(apiextensions.AddToScheme(scheme.Scheme))
	must(apiregistration.AddToScheme(scheme.Scheme))
	for _, t := range scheme.Scheme.AllKnownTypes() {
		visit(t)
	}
	for _, t := range []any{metav1.APIGroupList{}, metav1.APIResourceList{}, metav1.APIVersions{}} {
		visit(reflect.TypeOf(t))
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, name := range definitions(os.Args[2]) {
		t, known := types[name]
		if !known {
			continue
		}
		if os.Args[1] == "answers" {
			fmt.Fprintf(out, "%s\t%s\t%s\n", name, answer(t, "{}"), answer(t, zeros(t)))
		} else if line := facts(t); line != "" {
			fmt.Fprintln(out, name+line)
		}
	}
}

func definitions(path string) []string {
	text, err := os.ReadFile(path)
	must(err)
	var schemas map[string]any
	must(json.Unmarshal(text, &schemas))
	names := make([]string, 0, len(schemas))
	for name := range schemas {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Takes in t and every type that its fields lead to.
func visit(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		visit(t.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	name := "io." + strings.NewReplacer("k8s.io/", "k8s.", "/", ".").Replace(t.PkgPath()) + "." + t.Name()
	_, isLeaf := leaves[t]
	if _, seen := types[name]; seen || isLeaf || !strings.HasPrefix(t.PkgPath(), "k8s.io/") {
		return
	}
	types[name] = t
	for _, f := range fieldsOf(t) {
		visit(f.of)
	}
}

func fieldsOf(t reflect.Type) (fields []field) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-" || !f.IsExported():
		case f.Anonymous && tag == "" || has(options, "inline"):
			fields = append(fields, fieldsOf(f.Type)...)
		case tag == "":
			fields = append(fields, field{f.Name, flags(f.Type, options), f.Type})
		default:
			fields = append(fields, field{tag, flags(f.Type, options), f.Type})
		}
	}
	sort.Slice(fields, func(i, j int) bool { return fields[i].name < fields[j].name })
	return fields
}

// To encoding/json no struct is empty: omitempty leaves none out.
func flags(t reflect.Type, options string) string {
	isPointer := t.Kind() == reflect.Pointer
	omitted := has(options, "omitzero") || has(options, "omitempty") && t.Kind() != reflect.Struct
	switch {
	case isPointer && omitted:
		return "*"
	case isPointer:
		return "*!"
	case omitted:
		return ""
	}
	return "!"
}

func has(options, one string) bool {
	return strings.Contains(","+options+",", ","+one+",")
}

func facts(t reflect.Type) (line string) {
	for _, f := range fieldsOf(t) {
		if f.flags != "" {
			line += " " + f.name + f.flags
		}
	}
	return line
}

// An object of type t whose fields are all there with their zeros.
func zeros(t reflect.Type) string {
	object := map[string]any{}
	for _, f := range fieldsOf(t) {
		if zero := zeroOf(f.of); zero != nil {
			object[f.name] = zero
		}
	}
	text, err := json.Marshal(object)
	must(err)
	return string(text)
}

func zeroOf(t reflect.Type) any {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if zero, isLeaf := leaves[t]; isLeaf {
		return zero
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return map[string]any{}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return ""
		}
		return []any{}
	case reflect.String:
		return ""
	case reflect.Bool:
		return false
	case reflect.Interface:
		return nil
	}
	return 0
}

type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

func answer(t reflect.Type, text string) string {
	value := reflect.New(t)
	must(json.Unmarshal([]byte(text), value.Interface()))
	if m, ok := value.Interface().(message); ok {
		raw, err := m.Marshal()
		must(err)
		value = reflect.New(t)
		must(value.Interface().(message).Unmarshal(raw))
	}
	out := bytes.Buffer{}
	must(json.NewEncoder(&out).Encode(value.Interface()))
	return strings.TrimSpace(out.String())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
