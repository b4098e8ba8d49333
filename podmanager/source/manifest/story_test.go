package manifest_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podkeel/podkeel/podmanager/source/manifest"
)

// TestStories_CF10toCF13_F1toF14 replays testdata. Each command has a manifest as
// its input:
//
//	load [node=] [path=] [objects]   what the source makes of it, a line for each pod or fault
//	full                   the whole pod, with all defaults
//	spec [objects]         load for a pod named p with this spec, in flow style
func TestStories_CF10toCF13_F1toF14(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) { story(t, path) })
	}
}

// story replays one file.
func story(t *testing.T, path string) {
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		node, file := "n1", "/m/f.yaml"
		d.MaybeScanArgs(t, "node", &node)
		d.MaybeScanArgs(t, "path", &file)
		input := d.Input
		if d.Cmd == "spec" {
			input = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: " + strings.TrimSpace(input) + "}"
		}
		pods, err := manifest.Load([]byte(input), node, file, d.HasArg("objects"))
		if err != nil {
			return failure(err)
		}
		if d.Cmd == "full" {
			text, err := yaml.Marshal(pods[0])
			require.NoError(t, err)
			return string(text)
		}
		return summary(pods)
	})
}

// failure returns the sentinel and the text of an error.
func failure(err error) string {
	for _, s := range []struct {
		err  error
		name string
	}{{manifest.ErrEmpty, "empty"}, {manifest.ErrSyntax, "syntax"}, {manifest.ErrInvalid, "invalid"}} {
		if errors.Is(err, s.err) {
			return s.name + "\n" + err.Error() + "\n"
		}
	}
	return "of no kind: " + err.Error() + "\n"
}

func summary(pods []*v1.Pod) string {
	var out strings.Builder
	for _, p := range pods {
		fmt.Fprintf(&out, "%s/%s uid=%s", p.Namespace, p.Name, p.UID)
		for _, c := range p.Spec.InitContainers {
			fmt.Fprintf(&out, " init:%s=%s", c.Name, c.Image)
		}
		for _, c := range p.Spec.Containers {
			fmt.Fprintf(&out, " %s=%s", c.Name, c.Image)
		}
		out.WriteString("\n")
	}
	if out.Len() == 0 {
		return "no pods\n"
	}
	return out.String()
}
