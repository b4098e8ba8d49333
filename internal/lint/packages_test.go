package lint

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPackages: PACKAGES.md has every package that can be imported, as it is now.
func TestPackages(t *testing.T) {
	const file = "../PACKAGES.md"
	m, h := loadModule(t), Podkeel()
	got := PackagesPage(m, h, countCompiled(t, h.Module))
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, line := range changedLines(string(want), got) {
		t.Error(line)
	}
	if t.Failed() {
		t.Log("the packages have changed: go test ./internal/lint -run TestPackages -rewrite")
	}
	for _, p := range m.Packages {
		if isImportable(p) {
			assert.Equal(t, 1, strings.Count(got, "\n| ["+p.Dir+"]("), p.Dir)
		}
	}
	for _, dir := range append(startHere, primitives...) {
		_, known := h.findRow(dir)
		assert.True(t, known, "%s is no package", dir)
	}
}

// countCompiled returns how many packages outside the standard library an importer of each package
// compiles, its own included, on linux/amd64 without C.
func countCompiled(t *testing.T, module string) map[string]int {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Deps", module+"/...")
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := list.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, list.Start())
	type listed struct {
		ImportPath string
		Standard   bool
		Deps       []string
	}
	standard, own := map[string]bool{}, []listed(nil)
	for decoder := json.NewDecoder(out); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		standard[p.ImportPath] = p.Standard
		if isSameOrBelow(p.ImportPath, module) {
			own = append(own, p)
		}
	}
	require.NoError(t, list.Wait())
	require.NotEmpty(t, own, "the go command listed nothing")
	compiled := map[string]int{}
	for _, p := range own {
		n := 1
		for _, dependency := range p.Deps {
			if !standard[dependency] {
				n++
			}
		}
		compiled[strings.TrimPrefix(p.ImportPath, module+"/")] = n
	}
	return compiled
}
