//go:build linux

package manifest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// largePodYAML returns a pod that uses a bit more memory than n KiB.
func largePodYAML(name string, n int) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {containers: [{name: c, image: i, args: [&a " +
		strings.Repeat("x", 1000) + strings.Repeat(", *a", n) + "]}]}\n"
}

// TestScan_CF15_NamedFilesAndOthers: a scan of the named files also reads each file whose state depends on more than its
// content, so that it has the result of a scan of all files.
func TestScan_CF15_NamedFilesAndOthers(t *testing.T) {
	start := func(t *testing.T, full int) *comparison {
		c := newComparison(t, t.TempDir())
		t.Cleanup(func() {
			c.close()
			assert.Equal(t, full, c.fullScans)
		})
		return c
	}
	t.Run("F34 files that change", func(t *testing.T) {
		c := start(t, 0)
		c.write("a", podYAML("a", "one"))
		c.replace("b", podYAML("b", "one"))
		assert.Equal(t, "a-n1 b-n1", c.scan())
		c.write("a", "kind: [")
		require.NoError(t, os.Rename(c.file("b"), c.file("c")))
		assert.Equal(t, "a-n1 b-n1", c.scan())
		c.remove("a")
		require.NoError(t, os.Rename(c.file("c"), c.file(".c")))
		assert.Equal(t, "", c.scan())
	})
	t.Run("F30 the target of a link changes", func(t *testing.T) {
		c := start(t, 0)
		target := filepath.Join(c.root, "target")
		require.NoError(t, os.WriteFile(target, []byte(podYAML("a", "one")), 0o600))
		c.link(target, "a")
		assert.Equal(t, "a-n1", c.scan())
		require.NoError(t, os.WriteFile(target, []byte(podYAML("other", "two")), 0o600))
		assert.Equal(t, "other-n1", c.scan())
		require.NoError(t, os.Remove(target))
		assert.Equal(t, "other-n1", c.scan())
		require.NoError(t, os.WriteFile(target, []byte(podYAML("a", "three")), 0o600))
		assert.Equal(t, "a-n1", c.scan())
		c.replace("a", podYAML("file", "four"))
		assert.Equal(t, "file-n1", c.scan())
	})
	t.Run("F30 a ConfigMap volume is switched", func(t *testing.T) {
		c := start(t, 2)
		for _, version := range []string{"..1", "..2"} {
			require.NoError(t, os.Mkdir(c.file(version), 0o700))
			c.write(version+"/web", podYAML("web"+strings.Trim(version, "."), "i"))
			c.link(version, "..data")
			c.link("..data/web", "web")
			c.scan()
		}
		assert.Equal(t, "web2-n1", c.scan())
	})
	t.Run("F4 other files need less memory", func(t *testing.T) {
		c := start(t, 0)
		for _, name := range []string{"a", "b", "c"} {
			c.write(name, largePodYAML(name, 400))
		}
		assert.Equal(t, "a-n1 b-n1 incomplete", c.scan())
		c.remove("a")
		assert.Equal(t, "b-n1 incomplete", c.scan())
		assert.Equal(t, "b-n1 c-n1", c.scan())
	})
	t.Run("F8 the first path wins", func(t *testing.T) {
		c := start(t, 0)
		c.write("b", podYAML("web", "b"))
		assert.Equal(t, "web-n1", c.scan())
		c.write("a", podYAML("web", "a"))
		assert.Equal(t, "web-n1", c.scan())
		c.remove("a")
		assert.Equal(t, "web-n1", c.scan())
	})
	t.Run("F2 the saved version cannot be read for a while", func(t *testing.T) {
		c := start(t, 0)
		c.write("a", podYAML("a", "one"))
		c.scan()
		c.save()
		c.write("a", "kind: [")
		saved := savedVersions(t, c.all.state)
		c.damageSaved()
		c.start()
		assert.Equal(t, "incomplete", c.scan())
		c.eachState(func(state string) error {
			for name, text := range saved {
				if err := os.WriteFile(filepath.Join(state, name), []byte(text), 0o600); err != nil {
					return err
				}
			}
			return nil
		})
		assert.Equal(t, "a-n1", c.scan())
	})
	t.Run("I47 a text is kept when there is room", func(t *testing.T) {
		c := start(t, 0)
		c.blockState()
		for _, name := range []string{"a", "b"} {
			c.write(name, podYAML(name, "i")+strings.Repeat("# three bytes\n", manifest.MaxHeld*2/3/14))
		}
		c.scan()
		c.save()
		c.remove("a")
		c.scan()
		assert.Equal(t, "b-n1", c.scan())
		c.write("b", "kind: [")
		c.scan()
		c.unblockState()
		c.save()
		assert.Len(t, savedVersions(t, c.named.state), 1)
	})
	t.Run("F9 a file with an editor's name", func(t *testing.T) {
		c := start(t, 0)
		c.eachState(func(state string) error { return manifest.KeepAs(state, c.file("a.bak"), podYAML("a", "one")) })
		c.write("a.bak", podYAML("a", "one"))
		assert.Equal(t, "a-n1", c.scan())
		c.write("a.bak", podYAML("other", "one"))
		assert.Equal(t, "other-n1", c.scan())
	})
	t.Run("F32 too many files", func(t *testing.T) {
		c := start(t, 1)
		c.write("a", podYAML("a", "one"))
		c.scan()
		for i := range maxFilesCompared {
			c.write(fmt.Sprint("b", i), podYAML(fmt.Sprint("b", i), "i"))
		}
		c.write("a", podYAML("a", "two"))
		assert.Equal(t, "a-n1", c.scan(), "it cannot be listed")
		for i := range maxFilesCompared {
			c.remove(fmt.Sprint("b", i))
		}
		assert.Equal(t, "a-n1", c.scan(), "all, since a scan has failed")
	})
	t.Run("F31 no regular file becomes one", func(t *testing.T) {
		c := start(t, 0)
		require.NoError(t, syscall.Mkfifo(c.file("a"), 0o600))
		require.NoError(t, os.Mkdir(c.file("b"), 0o700))
		assert.Equal(t, "", c.scan())
		c.replace("a", podYAML("a", "i"))
		c.remove("b")
		c.write("b", podYAML("b", "i"))
		assert.Equal(t, "a-n1 b-n1", c.scan())
	})
}

// TestScan_CF15_NamedFilesGiveTheResultOfAll: after any operations, a scan of the files that inotify names has the result
// of a scan of all files: the pods, the problems, the faults, and the versions that are saved for the next process.
func TestScan_CF15_NamedFilesGiveTheResultOfAll(t *testing.T) {
	root, n, scans, full := t.TempDir(), 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		below := filepath.Join(root, fmt.Sprint(n))
		require.NoError(t, os.Mkdir(below, 0o700))
		c := newComparison(t, below)
		defer func() {
			c.close()
			require.NoError(t, os.RemoveAll(below))
			scans, full = scans+c.scans, full+c.fullScans
		}()
		operate := operations(c)
		for range rapid.IntRange(1, 12).Draw(t, "scans") {
			for range rapid.IntRange(0, 3).Draw(t, "operations") {
				name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "name")
				operate[rapid.SampledFrom(operationNames).Draw(t, "operation")](t, name)
			}
			c.scan()
			if rapid.Bool().Draw(t, "save") {
				c.save()
			}
		}
	})
	t.Logf("%d of %d scans read all files", full, scans)
	assert.Less(t, full, scans/2)
}

// operationNames are the keys of operations. The frequent ones are named several times.
var operationNames = []string{
	"write", "write", "write", "replace", "replace", "remove", "remove", "rename", "cut", "touch", "link", "link inside", "target",
	"switch", "directory", "pipe", "editor's file", "many", "few", "restart", "damage", "block", "unblock",
}

// operations returns the operations on the directory of c. name is the file to change.
func operations(c *comparison) map[string]func(t *rapid.T, name string) {
	target := filepath.Join(c.root, "target")
	content := func(t *rapid.T) string {
		pod, image := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "pod"), rapid.SampledFrom([]string{"one", "two"}).Draw(t, "image")
		good := podYAML(pod, image)
		return rapid.SampledFrom([]string{
			good, good, good, largePodYAML(pod, 300), largePodYAML(pod, 600), largePodYAML(pod, 1500),
			"", "# nothing\n", "kind: [", "kind: Pod\n", good + "bogus: 1\n", good + "---\n" + podYAML("second", image),
			strings.Replace(good, "{name:", "{uid: same, name:", 1), strings.Replace(good, "spec: {", "spec: {priority: 7, ", 1),
			"apiVersion: v1\nkind: List\nitems: []\n", "a\x00b",
		}).Draw(t, "content")
	}
	// clear removes what a write or a rename cannot replace.
	clear := func(name string) {
		if info, err := os.Lstat(c.file(name)); err == nil && !info.Mode().IsRegular() {
			c.remove(name)
		}
	}
	return map[string]func(t *rapid.T, name string){
		"write":   func(t *rapid.T, name string) { clear(name); c.write(name, content(t)) },
		"replace": func(t *rapid.T, name string) { clear(name); c.replace(name, content(t)) },
		"remove":  func(_ *rapid.T, name string) { c.remove(name) },
		"rename": func(t *rapid.T, name string) {
			to := rapid.SampledFrom([]string{"a", "b", "c", "f", ".hidden", "a.bak"}).Draw(t, "to")
			clear(to)
			_ = os.Rename(c.file(name), c.file(to)) // Perhaps there is no such file.
		},
		"cut":   func(_ *rapid.T, name string) { clear(name); _ = os.Truncate(c.file(name), 20) },
		"touch": func(_ *rapid.T, name string) { clear(name); _ = os.Chmod(c.file(name), 0o640) },
		"link":  func(_ *rapid.T, name string) { c.remove(name); c.link(target, name) },
		"link inside": func(t *rapid.T, name string) {
			c.remove(name)
			c.link(rapid.SampledFrom([]string{"a", "b", "..data/web"}).Draw(t, "inside"), name)
		},
		"target": func(t *rapid.T, _ string) {
			require.NoError(t, os.RemoveAll(target))
			if rapid.Bool().Draw(t, "exists") {
				require.NoError(t, os.WriteFile(target, []byte(content(t)), 0o600))
			}
		},
		"switch": func(t *rapid.T, name string) {
			require.NoError(t, os.MkdirAll(c.file(".."+name), 0o700))
			c.write(".."+name+"/web", content(t))
			c.link(".."+name, "..data")
		},
		"directory":     func(t *rapid.T, name string) { c.remove(name); require.NoError(t, os.Mkdir(c.file(name), 0o700)) },
		"pipe":          func(t *rapid.T, name string) { c.remove(name); require.NoError(t, syscall.Mkfifo(c.file(name), 0o600)) },
		"editor's file": func(t *rapid.T, name string) { c.write(name+".swp", content(t)) },
		"many": func(t *rapid.T, _ string) {
			for i := range maxFilesCompared {
				c.write(fmt.Sprint("many-", i), content(t))
			}
		},
		"few": func(_ *rapid.T, _ string) {
			for i := range maxFilesCompared {
				c.remove(fmt.Sprint("many-", i))
			}
		},
		"restart": func(_ *rapid.T, _ string) { c.start() },
		"damage":  func(_ *rapid.T, _ string) { c.damageSaved() },
		"block":   func(_ *rapid.T, _ string) { c.blockState() },
		"unblock": func(_ *rapid.T, _ string) { c.unblockState() },
	}
}
