package volume_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
)

// TestStories runs the texts in testdata. Commands, each with a pod in JSON:
//
//	problems [tokens]  the unsupported fields
//	needs              the objects that its volumes refer to
//	files              the files of its volumes
//	mounts             the mounts of its first container; $(X) is x, other variables are unknown
//	hosts [ips=...]    its hosts file
//
// There are a ConfigMap "cfg" with keys a and b, and b2 in binary; a Secret "pw"
// with key k, and a token for the API server that lasts 3607 seconds. The pod is ns/p of UID u by default.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if filepath.Ext(path) == ".txt" {
			datadriven.RunTest(t, path, story)
		}
	})
}

var objects = environ.Objects{
	ConfigMaps: map[string]*v1.ConfigMap{"cfg": {Data: map[string]string{"a": "1", "b": "2"}, BinaryData: map[string][]byte{"b2": {0xff}}}},
	Secrets:    map[string]*v1.Secret{"pw": {Data: map[string][]byte{"k": []byte("s")}}},
	Tokens:     map[environ.TokenRef]string{{ExpirationSeconds: 3607}: "jwt"},
}

func story(t *testing.T, d *datadriven.TestData) string {
	pod := &v1.Pod{}
	pod.Name, pod.Namespace, pod.UID, pod.Labels = "p", "ns", "u", map[string]string{"b": "x\ny", "a": "1"}
	require.NoError(t, json.Unmarshal([]byte(d.Input), pod), d.Pos)
	var b strings.Builder
	switch d.Cmd {
	case "problems":
		for _, p := range volume.Problems(pod, volume.Features{Tokens: d.HasArg("tokens"), Claims: d.HasArg("claims")}) {
			fmt.Fprintf(&b, "%s: %s\n", p.Field, p.Why)
		}
	case "needs":
		for _, n := range volume.ObjectRefs(pod) {
			fmt.Fprintf(&b, "%s %s optional=%t\n", n.Kind, n.Name, n.Optional)
		}
	case "files":
		for i := range pod.Spec.Volumes {
			files, err := volume.Files(pod, &pod.Spec.Volumes[i], objects, v1.ResourceList{v1.ResourceMemory: resource.MustParse("8Gi")})
			for _, f := range files {
				if err != nil {
					break
				}
				fmt.Fprintf(&b, "%s %#o %q", f.Path, f.Mode, f.Data)
				if f.Owner != nil {
					fmt.Fprintf(&b, " of %d", *f.Owner)
				}
				b.WriteByte('\n')
			}
			if err != nil {
				fmt.Fprintf(&b, "error: %s: %v\n", pod.Spec.Volumes[i].Name, err)
			}
		}
	case "mounts":
		mounts, err := volume.Mounts(pod, &pod.Spec.Containers[0], func(s string) (string, error) {
			s = strings.ReplaceAll(s, "$(X)", "x")
			s = strings.ReplaceAll(s, "$(UP)", "..")
			if strings.Contains(s, "$") {
				return "", errors.New("unknown variable")
			}
			return s, nil
		})
		for _, m := range mounts {
			fmt.Fprintf(&b, "%d %s: %s of %s readonly=%t/%d propagation=%d", m.Index, m.ContainerPath, m.SubPath, m.Volume.Name, m.ReadOnly, m.RecursiveReadOnly, m.Propagation)
			if m.Image != "" {
				fmt.Fprintf(&b, " image=%s path=%q", m.Image, m.ImageSubPath)
			}
			b.WriteByte('\n')
		}
		if err != nil {
			fmt.Fprintf(&b, "error: %v\n", err)
		}
	case "hosts":
		var ips string
		d.MaybeScanArgs(t, "ips", &ips)
		text, err := volume.HostsFile(pod, strings.FieldsFunc(ips, func(r rune) bool { return r == '|' }), []string{"p.sub.ns.svc.example", "p"}, []byte("192.0.2.1 node"))
		b.Write(text)
		if err != nil {
			fmt.Fprintf(&b, "error: %v\n", err)
		}
		return strings.ReplaceAll(b.String(), "\n\n", "\n.\n")
	default:
		t.Fatalf("%s: unknown command", d.Pos)
	}
	return b.String()
}
