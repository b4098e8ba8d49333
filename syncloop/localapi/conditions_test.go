package localapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/syncloop/node"
)

// conditionsOf are the conditions of a status, each as type=status.
func conditionsOf(status v1.PodStatus) string {
	var all []string
	for _, c := range status.Conditions {
		all = append(all, fmt.Sprintf("%s=%s", c.Type, c.Status))
	}
	return strings.Join(all, " ")
}

// TestStatus: clients write the conditions that are not the node's, and nothing else of a status.
func TestStatus(t *testing.T) {
	dir := t.TempDir()
	h, w := newWritableAPI(t, dir)
	h.startServer().waitForPods()
	running := newPod("default", "a")
	running.UID = h.createPod(simple).UID
	running.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}, {Type: "example.com/old", Status: v1.ConditionTrue}}
	watch := h.startWatch("/api/v1/pods?watch=true")
	assert.Equal(t, "ADDED a", watch.nextEventLine())
	h.states <- node.PodState{Pod: running}
	assert.Equal(t, "MODIFIED a", watch.nextEventLine())
	assert.Equal(t, "Ready=True", conditionsOf(getObject[v1.Pod](h, pods+"/a").Status), "conditions of others come from the client")
	w.takeCalls()

	patch := func(status string) string {
		return h.describeStatus("PATCH", pods+"/a/status", `{"metadata":{"labels":{"x":"y"}},"spec":{"hostname":"z"},"status":`+status+`}`, "strategic-merge-patch+json")
	}
	gate := `{"phase":"Failed","conditions":[{"type":"example.com/lb","status":"True"},{"type":"Ready","status":"False"}]}`
	assert.Equal(t, "200 ", patch(gate))
	assert.Equal(t, "MODIFIED a", watch.nextEventLine())
	now := getObject[v1.Pod](h, pods+"/a")
	assert.Equal(t, "Running Ready=True example.com/lb=True map[]  1", fmt.Sprint(now.Status.Phase, " ", conditionsOf(now.Status), " ", now.Labels, " ", now.Spec.Hostname, " ", now.Generation))
	assert.Equal(t, []string{"apply a x:1"}, w.takeCalls())
	assert.Equal(t, "200 ", patch(gate), "which changes nothing")
	assert.Empty(t, w.takeCalls())

	h.states <- node.PodState{Pod: running}
	assert.Equal(t, "200 ", h.describeStatus("PATCH", pods+"/a", `{"metadata":{"labels":{"k":"v"}}}`, "merge-patch+json"))
	assert.Equal(t, "Ready=True example.com/lb=True", conditionsOf(getObject[v1.Pod](h, pods+"/a").Status), "they stay over what the node shows, and over other writes")

	for status, fault := range map[string]string{
		`{"conditions":[{"type":"a/b/c","status":"True"}]}`: "].type: Invalid value: \"a/b/c\"",
		`{"conditions":[{"type":"g","status":"Yes"}]}`:      `expected True, False or Unknown`,
	} {
		assert.Contains(t, patch(status), fault)
	}
	twice := getObject[v1.Pod](h, pods+"/a")
	twice.Status.Conditions = append(twice.Status.Conditions, v1.PodCondition{Type: "example.com/lb", Status: v1.ConditionFalse})
	text, err := json.Marshal(twice)
	require.NoError(t, err)
	assert.Contains(t, h.describeStatus("PUT", pods+"/a/status", string(text), "json"), `Duplicate value: "example.com/lb"`)
	assert.Equal(t, "200 ", h.describeStatus("PATCH", pods+"/a/status?dryRun=All", `{"status":{"conditions":null}}`, "merge-patch+json"))
	assert.Equal(t, "Ready=True example.com/lb=True", conditionsOf(getObject[v1.Pod](h, pods+"/a").Status))
	assert.Equal(t, "200 ", h.describeStatus("PATCH", pods+"/a/status", `{"status":{"conditions":null}}`, "merge-patch+json"))
	assert.Equal(t, "Ready=True", conditionsOf(getObject[v1.Pod](h, pods+"/a").Status))
}

const gated = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","annotations":{"memory.podkeel.dev/c":"run=forever"}},"spec":{"readinessGates":[{"conditionType":"example.com/lb"}],"containers":[{"name":"c","image":"x:1"}]}}`

// TestStatus_Gate, in a bubble: the condition of a readiness gate makes a pod ready and unready,
// also after a restart.
func TestStatus_Gate(t *testing.T) {
	inBox(t, func(b *box) {
		ready := func() string {
			resp, err := b.client.Get("http://n1" + pods + "/web")
			require.NoError(t, err)
			defer func() { _ = resp.Body.Close() }()
			var pod v1.Pod
			require.NoError(t, json.NewDecoder(resp.Body).Decode(&pod))
			for _, c := range pod.Status.Conditions {
				if c.Type == v1.PodReady {
					return fmt.Sprint(c.Status, " ", c.Reason, " ", c.Message)
				}
			}
			return "none"
		}
		open := func(status string) {
			answer := b.describeAnswer("PATCH", pods+"/web/status", `{"status":{"conditions":[{"type":"example.com/lb","status":"`+status+`"}]}}`)
			require.Equal(t, "200 web Running x:1", answer)
			time.Sleep(time.Second)
		}
		b.restartAgent(source.NewHandle())
		require.Regexp(t, "^201 web ", b.describeAnswer("POST", pods, gated))
		time.Sleep(5 * time.Second)
		assert.Equal(t, `False ReadinessGatesNotReady corresponding condition of pod readiness gate "example.com/lb" does not exist.`, ready())
		open("True")
		assert.Equal(t, "True  ", ready())
		b.restartAgent(source.NewHandle())
		assert.Equal(t, "True  ", ready())
		open("False")
		assert.Equal(t, `False ReadinessGatesNotReady the status of pod readiness gate "example.com/lb" is not "True", but False`, ready())
	})
}
