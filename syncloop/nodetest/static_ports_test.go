package nodetest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/syncloop/node"
	"github.com/podkeel/podkeel/syncloop/nodetest"
)

// staticWithPort is a static pod with a host port: each version of its manifest has a UID of
// its own, unless the manifest gives it one.
func staticWithPort(name string, port int32, uid types.UID) *v1.Pod {
	p := newPod(name, []string{"serve"})
	p.UID = uid
	p.Spec.TerminationGracePeriodSeconds = new(int64(2))
	p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: port, HostPort: port}}
	return p
}

// TestStatic_SwapsHostPorts: the manifests of two static pods swap their host ports, in one
// change or one shortly after the other, with UIDs of their own or with UIDs that stay. Neither
// is ever Failed, and in the end both run with their new ports.
func TestStatic_SwapsHostPorts(t *testing.T) {
	for name, test := range map[string]struct {
		apart   time.Duration
		sameUID bool
		waits   string // how the first pod waits
	}{
		"in one change":         {},
		"50 ms apart":           {apart: 50 * time.Millisecond, waits: "Pending NodePorts"},
		"a minute apart":        {apart: time.Minute, waits: "Pending NodePorts"},
		"in one change, by UID": {sameUID: true},
	} {
		t.Run(name, func(t *testing.T) {
			files := source.NewHandle()
			b := nodetest.New(t, nodetest.Config{Seed: 3, Node: node.Config{Pods: node.PodsConfig{Sources: map[string]source.Source{"file": files}}}})
			uids := [2][2]types.UID{{"a-1", "b-1"}, {"a-2", "b-2"}}
			if test.sameUID {
				uids[1] = uids[0]
			}
			before := []*v1.Pod{staticWithPort("a", 8001, uids[0][0]), staticWithPort("b", 8002, uids[0][1])}
			after := []*v1.Pod{staticWithPort("a", 8002, uids[1][0]), staticWithPort("b", 8001, uids[1][1])}
			require.NoError(t, files.Replace(before))
			b.Run(10 * time.Second)
			require.Equal(t, []string{"Running ", "Running "}, []string{podState(b, "a-1"), podState(b, "b-1")})
			if test.apart > 0 {
				require.NoError(t, files.Replace([]*v1.Pod{after[0], before[1]}))
				b.Run(test.apart)
				if test.apart > time.Second {
					assert.Equal(t, test.waits, podState(b, uids[1][0]))
				}
			}
			require.NoError(t, files.Replace(after))
			b.Run(time.Minute)
			assert.Equal(t, []string{"Running ", "Running "}, []string{podState(b, uids[1][0]), podState(b, uids[1][1])})
			assert.NotContains(t, b.Transcript(), "Failed NodePorts")
			assert.NotContains(t, b.Transcript(), "rejected")
			if test.apart > time.Second {
				assert.Equal(t, 1, strings.Count(b.Transcript(), "event NodePorts: host port 0.0.0.0:8002/TCP is taken by pod default/b"))
			}
			b.Stop()
		})
	}
}

// TestUpdates_MakeRoomBeforeAdmissionIsAsked: one change has two parts: an update that deletes a pod, as an API server
// sends it, and a new pod that needs the first one's host port. The update takes effect before admission, in any order
// of the two: the new pod waits and is not rejected.
func TestUpdates_MakeRoomBeforeAdmissionIsAsked(t *testing.T) {
	for _, updateFirst := range []bool{true, false} {
		b := nodetest.New(t, nodetest.Config{Seed: 3, Node: node.Config{Pods: node.PodsConfig{FromAPIServer: true}}})
		b.Apply(staticWithPort("a", 8001, "a"))
		b.Run(10 * time.Second)
		deleted := staticWithPort("a", 8001, "a")
		deleted.DeletionTimestamp = &metav1.Time{Time: b.Now().Add(2 * time.Second)}
		deleted.DeletionGracePeriodSeconds = new(int64(2))
		change := []*v1.Pod{deleted, staticWithPort("b", 8001, "b")}
		if !updateFirst {
			slices.Reverse(change)
		}
		for _, p := range change {
			b.Apply(p)
		}
		b.Run(time.Minute)
		assert.Equal(t, "Running ", podState(b, "b"))
		assert.Equal(t, 1, strings.Count(b.Transcript(), "event AdmissionDeferred: host port 0.0.0.0:8001/TCP is taken by pod default/a"))
		b.Stop()
	}
}

// TestStatic_WaitsForAPortAndForNothingElse: a static pod waits for a host port and for a name;
// what else is against it refuses it at once. A pod that is not static is refused.
func TestStatic_WaitsForAPortAndForNothingElse(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*v1.Pod)
		source string
		want   string
	}{
		"a port":                   {source: "file", want: "Pending NodePorts"},
		"another operating system": {source: "file", want: "Failed PodOSNotSupported", change: func(p *v1.Pod) { p.Spec.OS = &v1.PodOS{Name: v1.Windows} }},
		"a node of another name":   {source: "file", want: "Failed NodeAffinity", change: func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }},
		"the name of another pod":  {source: "file", want: "Pending NameConflict", change: func(p *v1.Pod) { p.Name, p.Spec.Containers[0].Ports = "holder", nil }},
		"not static":               {source: "api", want: "Failed NodePorts"},
	} {
		t.Run(name, func(t *testing.T) {
			files := source.NewHandle()
			config := nodetest.Config{Seed: 3}
			if test.source != "api" {
				config.Node.Pods.Sources = map[string]source.Source{test.source: files}
			}
			b := nodetest.New(t, config)
			b.Apply(staticWithPort("holder", 8001, "holder"))
			b.Run(5 * time.Second)
			other := staticWithPort("other", 8001, "other")
			if test.change != nil {
				test.change(other)
			}
			if test.source == "api" {
				b.Apply(other)
			} else {
				require.NoError(t, files.Replace([]*v1.Pod{other}))
			}
			b.Run(time.Minute)
			assert.Equal(t, test.want, podState(b, "other"))
			b.Delete("holder")
			b.Run(time.Minute)
			want := test.want
			if strings.HasPrefix(want, "Pending") {
				want = "Running "
			}
			assert.Equal(t, want, podState(b, "other"), fmt.Sprint("when the holder is gone"))
			b.Stop()
		})
	}
}
