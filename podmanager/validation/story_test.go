package validation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podkeel/podkeel/podmanager/validation"
)

// TestStories replays testdata. The input of a command is a pod, or with spec the spec
// of a pod named p:
//
//	default                      the pod with its defaults
//	pod, spec [unread=(FIELD, ...)|(POD)] [accepted]  the errors of the pod with its defaults, as a new one or as one that was accepted before
//	references [configmaps] [secrets]  those for a static pod with this spec
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			input := d.Input
			if d.Cmd == "spec" || d.Cmd == "references" {
				input = "{metadata: {name: p}, spec: " + input + "}"
			}
			pod := &v1.Pod{}
			require.NoError(t, yaml.UnmarshalStrict([]byte(input), pod), d.Pos)
			if d.Cmd == "references" {
				before := pod.DeepCopy()
				errs := validation.References(pod, validation.Available{ConfigMaps: d.HasArg("configmaps"), Secrets: d.HasArg("secrets")})
				assert.Equal(t, before, pod, "the pod is the caller's")
				return said(errs)
			}
			validation.Default(pod)
			before := pod.DeepCopy()
			validation.Default(pod)
			assert.Equal(t, before, pod, "defaults are idempotent")
			if d.Cmd == "default" {
				text, err := yaml.Marshal(pod)
				require.NoError(t, err)
				return string(text)
			}
			var unread []string
			if d.MaybeScanArgs(t, "unread", &unread); slices.Equal(unread, []string{"POD"}) {
				unread = []string{""}
			}
			check := validation.ValidatePartial
			if d.HasArg("accepted") {
				check = validation.ValidateAcceptedPartial
			}
			errs := check(pod, unread)
			assert.Equal(t, before, pod, "the pod is the caller's")
			return said(errs)
		})
	})
}

func said[E error](errs []E) string {
	var out strings.Builder
	for _, err := range errs {
		fmt.Fprintln(&out, err)
	}
	if out.Len() == 0 {
		return "fine\n"
	}
	return out.String()
}
