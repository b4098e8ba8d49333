package runtimetest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rt "github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/runtime/runtimetest"
)

// records are the types in which a runtime shows what it has made.
var records = []reflect.Type{
	reflect.TypeFor[rt.Pod](), reflect.TypeFor[rt.PodStatus](),
	reflect.TypeFor[rt.Sandbox](), reflect.TypeFor[rt.SandboxStatus](),
	reflect.TypeFor[rt.Container](), reflect.TypeFor[rt.ContainerStatus](),
}

// own are the fields that say what the runtime itself has found out or done.
var own = []string{
	"Pod.Sandboxes", "Pod.Containers", "PodStatus.Sandboxes", "PodStatus.Containers",
	"Sandbox.ID", "Sandbox.Ready", "Sandbox.CreatedAt", "SandboxStatus.Sandbox", "SandboxStatus.IPs",
	"Container.ID", "Container.State", "ContainerStatus.Container", "ContainerStatus.ImageRef",
	"ContainerStatus.CreatedAt", "ContainerStatus.StartedAt", "ContainerStatus.FinishedAt",
	"ContainerStatus.ExitCode", "ContainerStatus.Reason", "ContainerStatus.Message", "ContainerStatus.MountedImages",
	"ContainerStatus.StartCancelled", "ContainerStatus.Resources", "ContainerStatus.User",
}

// Every field of a record either echoes a request, and the cases check that, or the runtime sets
// it. A new field must be added to one of the lists.
func TestEcho_EveryFieldIsOnOneSide(t *testing.T) {
	echoes := runtimetest.Echoes()
	var all []string
	for _, record := range records {
		for i := range record.NumField() {
			name := record.Name() + "." + record.Field(i).Name
			all = append(all, name)
			assert.NotEqual(t, slices.Contains(own, name), echoes[name] != "", "%s is to be checked (echo.go) or the runtime's own (this test), and not both", name)
		}
	}
	for _, name := range slices.Concat(own, slices.Collect(maps.Keys(echoes))) {
		assert.Contains(t, all, name)
	}
}

// The comments of package runtime mark exactly these fields with "echoes", and name the field of
// the request.
func TestEcho_TheCommentsSayTheSame(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../types.go", nil, parser.ParseComments)
	require.NoError(t, err)
	said := map[string]string{}
	phrase := regexp.MustCompile(`\bechoes (\w+\.\w+)`)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, f := range fields.Fields.List {
			for _, name := range f.Names {
				if m := phrase.FindStringSubmatch(f.Doc.Text() + f.Comment.Text()); m != nil {
					said[spec.Name.Name+"."+name.Name] = m[1]
				}
			}
		}
		return true
	})
	assert.Equal(t, runtimetest.Echoes(), said)
}

// Every echoed field exists in its request.
func TestEcho_TheRequestsHaveTheFields(t *testing.T) {
	requests := map[string]reflect.Type{}
	for _, r := range []reflect.Type{
		reflect.TypeFor[rt.PodRef](), reflect.TypeFor[rt.RunSandboxRequest](),
		reflect.TypeFor[rt.CreateContainerRequest](), reflect.TypeFor[rt.Namespaces](),
	} {
		requests[r.Name()] = r
	}
	for field, of := range runtimetest.Echoes() {
		name, member, _ := strings.Cut(of, ".")
		require.Contains(t, requests, name, field)
		_, ok := requests[name].FieldByName(member)
		assert.True(t, ok, "%s echoes %s", field, of)
	}
}

// A runtime that returns another value than the request in any one of these fields fails a case.
func TestEcho_EachIsNoticed(t *testing.T) {
	for _, field := range slices.Sorted(maps.Keys(runtimetest.Echoes())) {
		record, member, _ := strings.Cut(field, ".")
		var failed []string
		for _, name := range []string{"status/shape", "list/shape"} {
			for _, value := range []func(reflect.Value){reflect.Value.SetZero, set} {
				if verdict(t, caseNamed(name), harness, func(r *tampered) { lie(r, record, member, value) }).failed {
					failed = append(failed, name)
				}
			}
		}
		assert.GreaterOrEqual(t, len(failed), 2, "a runtime that lies about %s passes: %v", field, failed)
	}
}

// set gives a field a value that is not zero, whatever the request has.
func set(field reflect.Value) {
	switch field.Kind() {
	case reflect.Bool:
		field.SetBool(true)
	case reflect.String:
		field.SetString("another")
	case reflect.Uint32, reflect.Uint64:
		field.SetUint(9)
	default:
		field.Set(reflect.ValueOf(map[string]string{"another": "one"}))
	}
}

// lie changes one field of all records of a type.
func lie(r *tampered, record, member string, to func(reflect.Value)) {
	change := func(v any) {
		if p := reflect.ValueOf(v).Elem(); p.Type().Name() == record {
			to(p.FieldByName(member))
		}
	}
	statusThrough(r, func(st *rt.PodStatus) {
		change(st)
		for i := range st.Sandboxes {
			change(&st.Sandboxes[i])
			change(&st.Sandboxes[i].Sandbox)
		}
		for i := range st.Containers {
			change(&st.Containers[i])
			change(&st.Containers[i].Container)
		}
	})
	listThrough(r, func(p *rt.Pod) {
		change(p)
		for i := range p.Sandboxes {
			change(&p.Sandboxes[i])
		}
		for i := range p.Containers {
			change(&p.Containers[i])
		}
	})
}
