package lint

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// core is what an importer gets without any edge.
var core = []string{"podworkers", "podmanager", "workqueue", "pleg", "runtime", "runtime/memory", "syncloop"}

// heaviest is how many packages outside the standard library the core may
// have an importer compile, its own included.
const heaviest = 84

// tooHeavy are the families that the core never brings along.
var tooHeavy = []string{"k8s.io/client-go", "k8s.io/cri-api", "google.golang.org/grpc", "github.com/prometheus", "k8s.io/apimachinery/pkg/util/strategicpatch", "k8s.io/kube-openapi/pkg/util/proto", "gopkg.in/evanphx/json-patch.v4", "go.etcd.io/bbolt", "github.com/fsnotify/fsnotify"}

func TestWeight(t *testing.T) {
	compiled := compiledBy(t, core...)
	t.Logf("the core compiles %d packages outside the standard library", len(compiled))
	assert.Empty(t, findFaults(compiled))
}

// compiledBy lists the packages outside the standard library that an importer of these
// has to compile.
func compiledBy(t *testing.T, dirs ...string) []string {
	t.Helper()
	return linkedBy(t, "{{if not .Standard}}{{.ImportPath}}{{end}}", dirs...)
}

// linkedBy lists packages that a program links if it imports these, by a template of the go
// command. It is built without gRPC's tracing pages.
func linkedBy(t *testing.T, format string, dirs ...string) []string {
	t.Helper()
	args := []string{"list", "-tags", "grpcnotrace", "-deps", "-f", format}
	for _, dir := range dirs {
		args = append(args, Podkeel().Module+"/"+dir)
	}
	out, err := exec.Command("go", args...).Output()
	require.NoError(t, err)
	compiled := strings.Fields(string(out))
	require.Greater(t, len(compiled), len(dirs), "the go command listed nothing")
	return compiled
}

// TestWeight_Node: an assembled node compiles no code that reads configuration files. The only YAML package is
// apimachinery's own (go.yaml.in/yaml/v2), which k8s.io/api imports.
func TestWeight_Node(t *testing.T) {
	for _, p := range compiledBy(t, "syncloop/node") {
		for _, files := range []string{"github.com/fsnotify/fsnotify", "go.yaml.in/yaml/v3", "sigs.k8s.io/yaml", "k8s.io/kube-openapi/pkg/util/proto", "gopkg.in/evanphx/json-patch.v4", Podkeel().Module + "/internal/document"} {
			assert.False(t, isSameOrBelow(p, files), "a node brings along %s", p)
		}
	}
}

// TestWeight_ClientGo: a node that is not joined to a cluster links no client-go. The standalone agent links none
// either, and only the package that joins a cluster links it.
func TestWeight_ClientGo(t *testing.T) {
	const clientGo = "k8s.io/client-go"
	for _, p := range compiledBy(t, "examples/agent", "syncloop/node", "syncloop/nodetest", "syncloop/cluster/apiservertest", "runtime/cri") {
		assert.False(t, isSameOrBelow(p, clientGo), "it brings along %s", p)
	}
	assert.Contains(t, compiledBy(t, "syncloop/cluster/client"), clientGo+"/rest", "the search itself is broken")
}

// heavyPrograms is what a program never links, and what it costs there. cobra imports text/template, but
// links none of it unless a program sets templates. OpenAPI (kube-openapi, gnostic-models, go-openapi: 3 MB)
// is not listed: strategicpatch of apimachinery links it, and the patches of the local API are worth more
// than these bytes. TestWeight and TestWeight_Node hold that the core and a node link none.
var heavyPrograms = map[string]string{
	"html/template": "4 MB: it calls methods by name, so the linker keeps all methods of all types",
	"net/rpc":       "4 MB, as html/template",
}

// TestWeight_Programs: the programs stay small. A step of .ci/run holds their bytes; this
// test names what made them large.
func TestWeight_Programs(t *testing.T) {
	linked := linkedBy(t, "{{.ImportPath}}", "examples/agent", "examples/cluster")
	assert.Contains(t, linked, "google.golang.org/grpc", "the search itself is broken")
	assert.Empty(t, findHeavyPackages(linked))
	assert.Len(t, findHeavyPackages([]string{"fmt", "html/template", "text/template/parse", "net/rpc", "k8s.io/kube-openapi/pkg/util"}), 2)
}

// findHeavyPackages returns a fault for each linked package that is too heavy for a program.
func findHeavyPackages(linked []string) (wrong []string) {
	for _, p := range linked {
		for heavy, cost := range heavyPrograms {
			if isSameOrBelow(p, heavy) {
				wrong = append(wrong, "a program links "+p+", which costs "+cost)
			}
		}
	}
	return wrong
}

// findFaults returns the faults of a list of compiled packages.
func findFaults(compiled []string) []string {
	var wrong []string
	for _, p := range compiled {
		for _, heavy := range tooHeavy {
			if isSameOrBelow(p, heavy) {
				wrong = append(wrong, "the core brings along "+p)
			}
		}
	}
	if len(compiled) > heaviest {
		wrong = append(wrong, "the core compiles more than it should: "+strings.Join(compiled, " "))
	}
	return wrong
}

func TestWeigh(t *testing.T) {
	assert.Empty(t, findFaults(make([]string, heaviest)))
	assert.Len(t, findFaults(make([]string, heaviest+1)), 1)
	assert.Equal(t, []string{"the core brings along k8s.io/client-go/rest"}, findFaults([]string{"k8s.io/client-go/rest", "k8s.io/client-gopher"}))
}
