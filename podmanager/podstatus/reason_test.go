package podstatus_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podkeel/podkeel/podmanager/podstatus"
)

// TestReasonStories runs the texts in testdata/waiting. Commands:
//
//	waits container=NAME    why it waits in the pod, whose spec and status follow as YAML
//	means                   what each of the reasons that follow means
func TestReasonStories(t *testing.T) {
	datadriven.Walk(t, "testdata/waiting", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "waits":
				return waitingReason(t, d)
			case "means":
				return explainReasons(d.Input)
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
}

func waitingReason(t *testing.T, d *datadriven.TestData) string {
	var name string
	d.ScanArgs(t, "container", &name)
	pod := &v1.Pod{}
	if err := yaml.UnmarshalStrict([]byte(d.Input), pod); err != nil {
		d.Fatalf(t, "%v", err)
	}
	w := podstatus.Waiting{Pod: pod, Published: &pod.Status}
	for _, list := range [...][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				w.Container = &list[i]
			}
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		if c := (*v1.Container)(&pod.Spec.EphemeralContainers[i].EphemeralContainerCommon); c.Name == name {
			w.Container, w.Ephemeral = c, true
		}
	}
	if w.Container == nil {
		d.Fatalf(t, "no container %q", name)
	}
	return string(podstatus.WaitingReason(w)) + "\n"
}

func explainReasons(words string) string {
	var b strings.Builder
	for _, word := range strings.Fields(words) {
		m := podstatus.Reason(word).Meaning()
		fmt.Fprintf(&b, "%s:", word)
		if m.Pending {
			b.WriteString(" pending")
		}
		if m.Backoff != "" {
			fmt.Fprintf(&b, " (%s)", m.Backoff)
		}
		if m.Sentence != "" {
			fmt.Fprintf(&b, " %q", m.Sentence)
		}
		if m.Working {
			b.WriteString(" while it is synced")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestReason_IsAnError(t *testing.T) {
	err := fmt.Errorf("a: %w", podstatus.ReasonErrImagePull)
	assert.ErrorIs(t, err, podstatus.ReasonErrImagePull)
	assert.NotErrorIs(t, err, podstatus.ReasonImagePullBackOff)
	assert.EqualError(t, err, "a: podsync: ErrImagePull")
}
