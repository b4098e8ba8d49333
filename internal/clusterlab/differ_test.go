package clusterlab_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/clusterlab"
	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/client"
)

var (
	seeds = flag.Uint64("seeds", 20, "how many random programs are run on a real server and on the one in memory")
	seed  = flag.Uint64("seed", 0, "the first of them; of TestChurn, where 0 is another one each time")
)

// TestSameAnswers runs random programs on a real server and on the one in memory: each
// step is answered alike, leaves the same state, and the watches show the same.
func TestSameAnswers(t *testing.T) {
	var nodes []string
	for i := range *seeds {
		nodes = append(nodes, fmt.Sprintf("random-%d", *seed+i))
	}
	c := startLab(t, clusterlab.Config{Nodes: nodes})
	admin, err := c.Admin()
	require.NoError(t, err)
	for i, node := range nodes {
		t.Run(fmt.Sprint("seed=", *seed+uint64(i)), func(t *testing.T) {
			server, err := client.New(c.Rest(node), node)
			require.NoError(t, err)
			t.Cleanup(server.Reconnect)
			memory := apiservertest.New(apiservertest.Config{})
			real := newSide(t, node, server, admin)
			ours := newSide(t, node, memory.Client(node), memory.Admin())
			r := rand.New(rand.NewPCG(*seed+uint64(i), 0))
			var program []string
			for range 120 {
				what, step := randomStep(r)
				program = append(program, what)
				want, got := step(real), step(ours)
				require.True(t, want == got, "%s\nreal: %s\nours: %s\nafter %q", what, want, got, program)
			}
			require.Equal(t, real.readWatch(), ours.readWatch(), "the watch after %q", program)
			real.deleteObjects()
		})
	}
}

// side is one of the two servers.
type side struct {
	t      *testing.T
	node   string
	server apiserver.Server
	admin  apiservertest.Administrator
	stream apiserver.Stream[*v1.Pod]
	uids   map[string]types.UID // of the newest pod of a name
	lease  *coordinationv1.Lease
}

func newSide(t *testing.T, node string, server apiserver.Server, admin apiservertest.Administrator) *side {
	stream, err := server.PodFeed().Watch(t.Context(), apiserver.WatchOptions{SendInitialEvents: true})
	require.NoError(t, err)
	t.Cleanup(stream.Close)
	return &side{t: t, node: node, server: server, admin: admin, stream: stream, uids: map[string]types.UID{}}
}

func (s *side) podNamed(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: s.node + "-" + name}}
}

// waitForCachedPod waits until the server has the pod of that name under its new UID.
func (s *side) waitForCachedPod(name string, own bool) {
	if !own {
		return
	}
	require.Eventually(s.t, func() bool {
		pod, err := s.server.Pods().Get(s.t.Context(), "default", s.podNamed(name).Name)
		return err == nil && pod.UID == s.uids[name]
	}, 10*time.Second, time.Millisecond)
}

// step runs on one side and returns the result.
type step func(*side) string

var names = []string{"a", "b", "c"}

var statuses = []string{
	`{"phase":"Running"}`, `{"phase":"Failed","reason":"R"}`, `{"phase":"Succeeded"}`, `{"phase":null}`, `{"reason":null,"message":"m"}`,
	`{"observedGeneration":2}`, `{"observedGeneration":null}`, `{"observedGeneration":-2}`,
	`{"podIP":"10.0.0.1","podIPs":[{"$patch":"replace"},{"ip":"10.0.0.1"}]}`, `{"podIPs":[{"$patch":"replace"},{"ip":"10.0.0.2"},{"ip":"fd00::2"}]}`,
	`{"podIP":null,"podIPs":[{"$patch":"replace"}]}`, `{"podIP":"fd00::9"}`, `{"podIPs":[{"ip":"10.0.0.7"}]}`, `{"podIP":"x"}`, `{"podIPs":null}`,
	`{"hostIP":"10.0.0.9","hostIPs":[{"$patch":"replace"},{"ip":"10.0.0.9"}]}`, `{"hostIP":"10.0.0.8"}`, `{"hostIPs":[{"ip":"10.0.0.7"}]}`, `{"hostIP":"x"}`,
	`{"conditions":[{"type":"Ready","status":"True"}]}`, `{"conditions":[{"type":"Ready","status":"False","reason":"R"},{"type":"Initialized","status":"True"}]}`,
	`{"conditions":[{"type":"Ready","$patch":"delete"}]}`, `{"$setElementOrder/conditions":[{"type":"Initialized"},{"type":"Ready"}],"conditions":[{"type":"Initialized","status":"True"}]}`,
	`{"conditions":null}`, `{"qosClass":"Burstable"}`, `{"qosClass":null}`, `{"nominatedNodeName":"x"}`, `{"nonsense":{"a":1}}`, `{"phase":7}`, `[]`,
	`{"containerStatuses":[{"name":"main","ready":false,"restartCount":0,"image":"i","imageID":"","state":{"terminated":{"exitCode":1}},"lastState":{}}]}`,
	`{"containerStatuses":[{"name":"main","ready":false,"restartCount":0,"image":"i","imageID":"","state":{"terminated":{"exitCode":0}},"lastState":{}}]}`,
	`{"containerStatuses":[{"name":"main","ready":true,"restartCount":1,"image":"i","imageID":"","state":{"running":{}},"lastState":{}}]}`,
	`{"containerStatuses":[]}`, `{"containerStatuses":null}`, `{"containerStatuses":[{"name":"other","ready":true,"restartCount":1,"image":"i","imageID":"","state":{"running":{}}}]}`,
	`{"startTime":"2030-01-01T00:00:00Z"}`, `{"startTime":null}`, `{"startTime":"x"}`, `{"allocatedResources":{"cpu":"1"}}`, `{"allocatedResources":{"$patch":"replace"}}`,
}

var metadatas = []string{
	``, ``, ``, `,"labels":{"a":"b"}`, `,"annotations":{"a":"b"}`, `,"annotations":{"a":null}`, `,"finalizers":["example.org/f"]`,
	`,"resourceVersion":"VERSION"`, `,"name":"other"`, `,"generation":9`, `,"deletionTimestamp":"2030-01-01T00:00:00Z"`, `,"ownerReferences":null`,
}

func randomStep(r *rand.Rand) (string, step) {
	name := names[r.IntN(len(names))]
	if r.IntN(10) == 0 {
		name = "d"
	}
	switch r.IntN(12) {
	case 0, 1, 2:
		if name == "d" {
			name = names[0]
		}
		pod := v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "example.org/i:1"}}}}
		pod.Spec.RestartPolicy = []v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyNever, v1.RestartPolicyOnFailure}[r.IntN(3)]
		elsewhere := r.IntN(6) == 0
		if elsewhere {
			name = "d" // Always: what a node may delete is decided by a cache, which may not know of a new pod.
		}
		if r.IntN(5) == 0 {
			pod.Finalizers = []string{"example.org/f"}
		}
		if grace := int64(r.IntN(3) * 10); grace > 0 {
			pod.Spec.TerminationGracePeriodSeconds = &grace
		}
		return fmt.Sprint("create ", name, " ", pod.Spec.RestartPolicy, " ", pod.Finalizers, " elsewhere=", elsewhere), func(s *side) string {
			pod := pod.DeepCopy()
			pod.Namespace, pod.Name, pod.Spec.NodeName = "default", s.podNamed(name).Name, s.node
			if elsewhere {
				pod.Spec.NodeName += "-other"
			}
			out, err := s.admin.Create(s.t.Context(), pod)
			if err == nil {
				s.uids[name] = out.GetUID()
			}
			s.waitForCachedPod(name, err == nil && !elsewhere)
			return s.describeOutcome(err, s.podNamed(name))
		}
	case 3, 4, 5, 6:
		status, metadata, uid := statuses[r.IntN(len(statuses))], metadatas[r.IntN(len(metadatas))], r.IntN(8)
		return fmt.Sprint("patch ", name, " ", status, metadata, " uid=", uid), func(s *side) string { return s.patchStatus(name, status, metadata, uid) }
	case 7, 8:
		grace, uid, byNode := []int64{-1, 0, 3, 60}[r.IntN(4)], r.IntN(5), r.IntN(2) == 0
		return fmt.Sprint("delete ", name, " grace=", grace, " uid=", uid, " node=", byNode), func(s *side) string { return s.deletePod(name, grace, uid, byNode) }
	case 9:
		what := r.IntN(5)
		return fmt.Sprint("edit ", name, " ", what), func(s *side) string { return s.editPod(name, what) }
	case 10:
		what := r.IntN(len(nodeSteps))
		return fmt.Sprint("node ", nodeSteps[what]), func(s *side) string { return s.nodeStep(what) }
	}
	what := r.IntN(6)
	return fmt.Sprint("lease ", what), func(s *side) string { return s.leaseStep(what) }
}

const otherUID = "00000000-1111-2222-3333-444444444444"

func (s *side) patchStatus(name, status, metadata string, uid int) string {
	given := s.uids[name]
	if uid == 0 || given == "" {
		given = otherUID
	}
	before, err := s.admin.Get(s.t.Context(), s.podNamed(name))
	version := "7"
	if err == nil && uid != 1 {
		version = before.GetResourceVersion()
	}
	text := fmt.Sprintf(`{"metadata":{"uid":%q%s},"status":%s}`, given, strings.ReplaceAll(metadata, "VERSION", version), status)
	_, err = s.server.Pods().PatchStatus(s.t.Context(), apiserver.PodRef{Namespace: "default", Name: s.podNamed(name).Name, UID: given}, []byte(text))
	out := s.describeOutcome(err, s.podNamed(name))
	if strings.Contains(status, `"observedGeneration":null`) {
		return out // A real server notes who manages the field, and makes a version of it.
	}
	if after, err := s.admin.Get(s.t.Context(), s.podNamed(name)); err == nil && before != nil {
		out += fmt.Sprint(" new version: ", after.GetResourceVersion() != before.GetResourceVersion())
	}
	return out
}

func (s *side) deletePod(name string, seconds int64, uid int, byNode bool) string {
	var grace *int64
	if seconds >= 0 {
		grace = &seconds
	}
	given := s.uids[name]
	if uid == 0 || given == "" {
		given = otherUID
	}
	if byNode {
		return s.describeOutcome(s.server.Pods().Delete(s.t.Context(), apiserver.PodRef{Namespace: "default", Name: s.podNamed(name).Name, UID: given}, grace), s.podNamed(name))
	}
	pod := s.podNamed(name)
	if uid < 2 {
		pod.UID = given
	}
	return s.describeOutcome(s.admin.Delete(s.t.Context(), pod, grace), s.podNamed(name))
}

// editPod changes a pod as an administrator.
func (s *side) editPod(name string, what int) string {
	o, err := s.admin.Get(s.t.Context(), s.podNamed(name))
	if err != nil {
		return s.describeOutcome(err, s.podNamed(name))
	}
	pod := o.(*v1.Pod)
	switch what {
	case 0:
		pod.Labels = map[string]string{"by": "hand"}
	case 1:
		pod.Finalizers = nil
	case 2:
		pod.Status.Phase = v1.PodFailed // An update leaves the status.
	case 3:
		seconds := int64(77)
		pod.Spec.ActiveDeadlineSeconds = &seconds
	case 4:
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: "example.org/foreign", Status: v1.ConditionTrue})
		_, err = s.admin.UpdateStatus(s.t.Context(), pod)
		return s.describeOutcome(err, s.podNamed(name))
	}
	_, err = s.admin.Update(s.t.Context(), pod)
	return s.describeOutcome(err, s.podNamed(name))
}

var nodeSteps = []string{
	"create", "create labelled", "delete",
	`{"metadata":{"labels":{"example.org/a":"b"}}}`, `{"metadata":{"labels":{"kubernetes.io/x":"y"}}}`, `{"metadata":{"labels":{"kubelet.kubernetes.io/x":"y"}}}`,
	`{"metadata":{"annotations":{"a":"b"}},"status":{"capacity":{"cpu":"3"}}}`, `{"spec":{"taints":null}}`, `{"spec":{"unschedulable":true}}`, `{"spec":{"providerID":"example://1"}}`,
	`status {"status":{"capacity":{"cpu":"4","memory":"1Gi"}},"spec":{"unschedulable":true}}`, `status {"status":{"capacity":{"cpu":null}}}`,
	`status {"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, `status {"status":{"conditions":[{"type":"Ready","status":"False"},{"type":"PIDPressure","status":"False"}]}}`,
	`status {"status":{"addresses":[{"$patch":"replace"},{"type":"InternalIP","address":"10.0.0.1"}]}}`, `status {"metadata":{"labels":{"example.org/s":"t"}}}`,
	`status {"metadata":{"labels":{"node-role.kubernetes.io/s":"t"}}}`, `status {"status":{"images":[{"names":["a"],"sizeBytes":7}]}}`, `status {"status":{"nodeInfo":{"machineID":"m"}}}`,
}

func (s *side) nodeStep(what int) string {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.node}}
	var err error
	switch text := nodeSteps[what]; {
	case text == "create":
		_, err = s.server.Nodes().Create(s.t.Context(), node)
	case text == "create labelled":
		node.Labels = map[string]string{"node-restriction.kubernetes.io/x": "y"}
		_, err = s.server.Nodes().Create(s.t.Context(), node)
	case text == "delete":
		err = s.admin.Delete(s.t.Context(), node, nil)
	case text[0] == '{':
		_, err = s.server.Nodes().Patch(s.t.Context(), s.node, []byte(text))
	default:
		_, err = s.server.Nodes().PatchStatus(s.t.Context(), s.node, []byte(text[len("status "):]))
	}
	return s.describeOutcome(err, node)
}

func (s *side) leaseStep(what int) string {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1.NamespaceNodeLease, Name: s.node}}
	var out *coordinationv1.Lease
	var err error
	switch what {
	case 0:
		out, err = s.server.Leases().Create(s.t.Context(), lease)
	case 1, 2, 3:
		if s.lease == nil {
			return ""
		}
		next := s.lease.DeepCopy()
		seconds := int32(40 + what)
		next.Spec.LeaseDurationSeconds = &seconds
		if what == 3 {
			next.ResourceVersion = ""
		}
		out, err = s.server.Leases().Update(s.t.Context(), next)
	case 4:
		err = s.admin.Delete(s.t.Context(), lease, nil)
	case 5:
		_, err = s.server.Leases().Update(s.t.Context(), lease)
	}
	if err == nil && out != nil {
		s.lease = out
	}
	return s.describeOutcome(err, lease)
}

// describeOutcome describes the result of a request and the state of the object after it.
func (s *side) describeOutcome(err error, o apiservertest.Object) string {
	answer := "ok"
	if err != nil {
		answer = "refused: " + string(apierrors.ReasonForError(err))
		if apierrors.ReasonForError(err) == "" {
			answer = err.Error()
		}
	}
	stored, err := s.admin.Get(s.t.Context(), o)
	if err != nil {
		return answer + ", then " + string(apierrors.ReasonForError(err))
	}
	return answer + ", then " + describeObject(stored)
}

// describeObject describes the fields of an object in which both servers must agree.
func describeObject(o apiservertest.Object) string {
	fields := map[string]any{"generation": o.GetGeneration(), "deleted": o.GetDeletionTimestamp() != nil, "grace": o.GetDeletionGracePeriodSeconds()}
	if len(o.GetLabels()) > 0 {
		fields["labels"] = o.GetLabels()
	}
	if len(o.GetAnnotations()) > 0 {
		fields["annotations"] = o.GetAnnotations()
	}
	if len(o.GetFinalizers()) > 0 {
		fields["finalizers"] = o.GetFinalizers()
	}
	switch o := o.(type) {
	case *v1.Pod:
		fields["status"], fields["tolerations"], fields["deadline"], fields["priority"] = o.Status, o.Spec.Tolerations, o.Spec.ActiveDeadlineSeconds, o.Spec.Priority
	case *v1.Node:
		taints := make([]v1.Taint, len(o.Spec.Taints))
		for i, taint := range o.Spec.Taints {
			taints[i] = v1.Taint{Key: taint.Key, Effect: taint.Effect}
		}
		fields["status"], fields["taints"], fields["unschedulable"], fields["provider"] = o.Status, taints, o.Spec.Unschedulable, o.Spec.ProviderID
	case *coordinationv1.Lease:
		fields["spec"] = o.Spec
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// readWatch returns the events of the watch until the event of a pod that it creates now.
func (s *side) readWatch() []string {
	end := s.podNamed("end")
	end.Spec = v1.PodSpec{NodeName: s.node, Containers: []v1.Container{{Name: "main", Image: "example.org/i:1"}}}
	_, err := s.admin.Create(s.t.Context(), end)
	require.NoError(s.t, err)
	var out []string
	for {
		e, err := s.stream.Next(s.t.Context())
		require.NoError(s.t, err)
		switch {
		case e.Type == apiserver.Bookmark && !e.InitialEventsEnd:
		case e.Type == apiserver.Bookmark:
			out = append(out, "BOOKMARK")
		case e.Object.Name == end.Name:
			return out
		default:
			out = append(out, fmt.Sprintf("%s %s %s", e.Type, e.Object.Name, describeObject(e.Object)))
		}
	}
}

// deleteObjects removes the remaining objects.
func (s *side) deleteObjects() {
	zero := int64(0)
	for _, name := range append([]string{"d", "end"}, names...) {
		pod := s.podNamed(name)
		if o, err := s.admin.Get(context.Background(), pod); err == nil {
			o.SetFinalizers(nil)
			_, _ = s.admin.Update(context.Background(), o) // The deletion reports the error.
			_ = s.admin.Delete(context.Background(), pod, &zero)
		}
	}
}
