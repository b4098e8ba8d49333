package environ_test

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/environ"
)

// TestStories runs the texts in testdata. Commands:
//
//	object kind=ConfigMap name=cfg     an object that exists, one key=value a line
//	file volume=v path=f               a file, as it is; more: it is longer; error=TEXT: it cannot be read
//	service name=web                   one that exists, in JSON
//	links off                          the pod has enableServiceLinks: false; on
//	resolve                            a container named c, in JSON
//	needs                              what such a container refers to, files too
//	expand                             the container, and after --- a text to expand
//	static                             the container's probe command, expanded
//
// The pod is ns/p with an init container named init; it has the addresses
// 10.0.0.9 and fd00::9 on a node of 192.0.2.1, which has 4 cpu and 8Gi.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		w := &harness{objects: environ.Objects{ConfigMaps: map[string]*v1.ConfigMap{}, Secrets: map[string]*v1.Secret{}}}
		t.Run(filepath.Base(file), func(t *testing.T) { datadriven.RunTest(t, file, w.run) })
	}
}

type harness struct {
	objects  environ.Objects
	files    map[environ.FileRef]environ.File
	services []*v1.Service
	links    *bool
}

func (w *harness) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "object":
		w.object(t, d)
		return "ok\n"
	case "file":
		w.file(t, d)
		return "ok\n"
	case "service":
		s := &v1.Service{}
		require.NoError(t, json.Unmarshal([]byte(d.Input), s), d.Pos)
		w.services = append(w.services, s)
		return "ok\n"
	case "links":
		w.links = new(d.HasArg("on"))
		return "ok\n"
	}
	text, after, _ := strings.Cut(d.Input, "\n---\n")
	c := v1.Container{Name: "c"}
	require.NoError(t, json.Unmarshal([]byte(text), &c), d.Pos)
	var b strings.Builder
	switch d.Cmd {
	case "needs":
		for _, n := range environ.ObjectRefs(&c) {
			fmt.Fprintf(&b, "%s %s optional=%t\n", n.Kind, n.Name, n.Optional)
		}
		for _, n := range environ.FileRefs(&c) {
			fmt.Fprintf(&b, "%s\n", n)
		}
	case "static":
		fmt.Fprintf(&b, "%q\n", environ.ExpandStatic(c.LivenessProbe.Exec.Command, c.Env))
	case "resolve", "expand":
		env, warnings, err := environ.Resolve(w.input(&c))
		for _, v := range env.Vars() {
			fmt.Fprintf(&b, "%s=%q\n", v.Name, v.Value)
		}
		if env.Command() != nil || env.Args() != nil {
			fmt.Fprintf(&b, "command %q args %q\n", env.Command(), env.Args())
		}
		for _, text := range warnings {
			fmt.Fprintf(&b, "warning: %s\n", text)
		}
		if err != nil {
			fmt.Fprintf(&b, "error: %v\n", err)
		}
		if d.Cmd == "expand" {
			out, err := env.Expand(after)
			b.Reset()
			fmt.Fprintf(&b, "%q %v\n", out, err)
		}
		for _, p := range environ.Problems(w.input(&c).Pod, &c) {
			fmt.Fprintf(&b, "problem: %s: %s\n", p.Field, p.Why)
		}
	default:
		t.Fatalf("%s: unknown command", d.Pos)
	}
	return b.String()
}

func (w *harness) object(t *testing.T, d *datadriven.TestData) {
	var kind, name string
	d.ScanArgs(t, "kind", &kind)
	d.ScanArgs(t, "name", &name)
	text, data := map[string]string{}, map[string][]byte{}
	for line := range strings.Lines(d.Input) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		text[key], data[key] = value, []byte(value)
	}
	if kind == "Secret" {
		w.objects.Secrets[name] = &v1.Secret{Data: data}
		return
	}
	w.objects.ConfigMaps[name] = &v1.ConfigMap{Data: text}
}

func (w *harness) file(t *testing.T, d *datadriven.TestData) {
	var need environ.FileRef
	d.ScanArgs(t, "volume", &need.Volume)
	d.ScanArgs(t, "path", &need.Path)
	file := environ.File{Data: []byte(strings.ReplaceAll(d.Input, "<CR>", "\r")), More: d.HasArg("more")}
	var why string
	if d.MaybeScanArgs(t, "error", &why); why != "" {
		file = environ.File{Err: errors.New(why)}
	}
	if w.files == nil {
		w.files = map[environ.FileRef]environ.File{}
	}
	w.files[need] = file
}

func (w *harness) input(c *v1.Container) environ.Input {
	cpu := v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1500m")}}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p", Namespace: "ns", UID: "u-1", Labels: map[string]string{"app": "web", "a.b/c": "d"},
			Annotations: map[string]string{"note": "x \"y\"\nz"},
		},
		Spec: v1.PodSpec{
			EnableServiceLinks: w.links,
			NodeName:           "edge-1", ServiceAccountName: "robot", Containers: []v1.Container{*c},
			InitContainers: []v1.Container{{Name: "init", Resources: cpu}},
		},
	}
	return environ.Input{
		Pod: pod, Container: c, Objects: w.objects, Files: w.files, Services: w.services,
		PodIPs: []string{"10.0.0.9", "fd00::9"}, HostIPs: []string{"192.0.2.1"},
		Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("8Gi")},
	}
}
