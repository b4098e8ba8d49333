package request_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podkeel/podkeel/internal/podspec"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

// TestStories replays testdata. The input is a pod:
//
//	profiles source=SOURCE   the profiles of its sandbox and its containers, and the ignored annotations
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			pod := &v1.Pod{}
			require.NoError(t, yaml.UnmarshalStrict([]byte(d.Input), pod), d.Pos)
			if source := ""; d.MaybeScanArgs(t, "source", &source) {
				pod.Annotations["kubernetes.io/config.source"] = source
			}
			return profilesOf(t, pod)
		})
	})
}

func profilesOf(t *testing.T, pod *v1.Pod) string {
	var out strings.Builder
	n := &request.Node{SeccompRoot: "/profiles"}
	show := func(what string, s runtime.Security, err error) {
		fmt.Fprintf(&out, "%s: seccomp=%s apparmor=%s", what, profileText(s.Seccomp), profileText(s.AppArmor))
		if err != nil {
			fmt.Fprintf(&out, " error: %v", err)
		}
		fmt.Fprintln(&out)
	}
	sandbox, _, err := n.SandboxRequest(pod, runtime.PodRef{UID: "u"}, 0, runtime.DNS{})
	require.NoError(t, err)
	show("sandbox", sandbox.Security, nil)
	for c := range podspec.AllAndEphemeralContainers(pod) {
		s, err := n.ContainerSecurity(pod, c, request.Image{})
		show(c.Name, s, err)
	}
	rejected, ignored := request.Unsupported(pod, request.Features{})
	for _, p := range rejected {
		fmt.Fprintln(&out, "rejected", p.Field+":", p.Why)
	}
	for _, p := range ignored {
		fmt.Fprintln(&out, "ignored", p.Field+":", p.Why)
	}
	return out.String()
}

func profileText(p runtime.Profile) string {
	switch {
	case p.Type == "":
		return "-"
	case p.Path == "":
		return p.Type
	}
	return p.Type + "(" + p.Path + ")"
}
