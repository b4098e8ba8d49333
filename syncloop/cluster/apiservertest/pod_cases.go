package apiservertest

import (
	"fmt"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
)

var podCases = []Case{
	{"pod/get", "Get returns a pod of the node, and refuses all others.", podGet},
	{"pod/create", "A node cannot create a pod that is no mirror pod.", podCreate},
	{"status/merge", "A patch of the status merges conditions by type and replaces containers; the spec, the labels and the generation stay.", statusMerge},
	{"status/same", "A patch that changes nothing makes no new version.", statusSame},
	{"status/uid", "A patch with the UID of another incarnation is refused with reason Conflict.", statusUID},
	{"status/missing", "A patch of a pod that does not exist is refused with reason NotFound.", statusMissing},
	{"status/foreign", "A patch of a pod of another node is refused with reason Forbidden.", statusForeign},
	{"status/labels", "A patch of the status that changes labels is refused with reason Forbidden.", statusLabels},
	{"status/version", "A patch with a resource version that is not the newest is refused with reason Conflict.", statusVersion},
	{"status/addresses", "Addresses can be replaced; a wrong one, and two of one family, are refused with reason Invalid.", statusAddresses},
	{"status/revived", "A container that has ended for good cannot run again: reason Invalid.", statusRevived},
	{"status/user", "The user of a container can be set; one with an ID that is negative or too large is refused with reason Invalid.", statusUser},
	{"status/observed", "The observed generation is kept if a patch clears it, and is never negative.", statusObserved},
	{"status/phase", "The server takes any phase after any other.", statusPhase},
	{"status/wrong", "A patch that does not fit the status, or changes its QoS class, is refused with reason Invalid; one that is no JSON with reason BadRequest.", statusWrong},
	{"status/deleted", "A condition is deleted by type; a deletion of one that is absent is no error.", statusDeleted},
}

func podGet(b *bench) {
	own, other := b.createPod("own"), b.createPod("other", b.setNodeNameToOtherNode)
	b.retryUntilAllowed("Get", func() error {
		got, err := b.h.Server.Pods().Get(b.ctx, own.Namespace, own.Name)
		b.Check(err != nil || got.UID == own.UID && got.ResourceVersion == own.ResourceVersion, "it is another pod")
		return err
	})
	_, err := b.h.Server.Pods().Get(b.ctx, other.Namespace, other.Name)
	b.requireReason(err, "Get of another node's pod", metav1.StatusReasonForbidden)
	_, err = b.h.Server.Pods().Get(b.ctx, b.h.Namespace, b.objectName("none"))
	b.requireReason(err, "Get of no pod", metav1.StatusReasonForbidden, metav1.StatusReasonNotFound)
}

func podCreate(b *bench) {
	_, err := b.h.Server.Pods().Create(b.ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.h.Namespace, Name: b.objectName("a")},
		Spec:       v1.PodSpec{NodeName: b.h.Node, Containers: []v1.Container{{Name: "main", Image: "example.org/image:1"}}},
	})
	b.requireReason(err, "an ordinary pod", metav1.StatusReasonForbidden)
}

func statusMerge(b *bench) {
	pod := b.createPod("a", func(pod *v1.Pod) { pod.Labels = map[string]string{"app": "a"} })
	foreign := pod.DeepCopy()
	foreign.Status.Conditions = append(foreign.Status.Conditions, v1.PodCondition{Type: "example.org/gate", Status: v1.ConditionTrue})
	_, err := b.h.Admin.UpdateStatus(b.ctx, foreign)
	b.Must(err, "UpdateStatus")
	b.mustPatchStatus(pod, `{"phase":"Pending","conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"main","state":{"waiting":{"reason":"ContainerCreating"}}}]}`)
	out := b.mustPatchStatus(pod, `{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"main","ready":true,"restartCount":0,"image":"i","imageID":"","state":{"running":{"startedAt":"2030-01-01T00:00:00Z"}}}]}`)
	conditions := map[v1.PodConditionType]v1.ConditionStatus{}
	for _, c := range out.Status.Conditions {
		conditions[c.Type] = c.Status
	}
	b.Check(conditions["example.org/gate"] == v1.ConditionTrue && conditions[v1.PodReady] == v1.ConditionTrue && len(conditions) == 2, "the conditions are %v", conditions)
	state := out.Status.ContainerStatuses
	b.Check(len(state) == 1 && state[0].State.Running != nil && state[0].State.Waiting == nil, "the containers are %+v", state)
	b.Check(out.Generation == pod.Generation && out.Labels["app"] == "a" && equality.Semantic.DeepEqual(out.Spec, pod.Spec), "more than the status has changed")
	b.Check(isNewerVersion(out.ResourceVersion, pod.ResourceVersion), "version %s follows %s", out.ResourceVersion, pod.ResourceVersion)
	b.Check(equality.Semantic.DeepEqual(out, adminGet(b, out)), "the answer is not what is stored")
	_, err = b.h.Server.Pods().PatchStatus(b.ctx, podRef(pod), fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"activeDeadlineSeconds":7},"status":{"message":"m"}}`, pod.UID))
	b.Must(err, "a patch of the status with a spec")
	b.Check(adminGet(b, pod).Spec.ActiveDeadlineSeconds == nil, "a patch of the status has changed the spec")
}

func statusSame(b *bench) {
	pod := b.createPod("a")
	first := b.mustPatchStatus(pod, `{"phase":"Running","podIPs":[{"$patch":"replace"},{"ip":"10.1.2.3"}]}`)
	b.Check(first.Status.PodIP == "10.1.2.3", "podIP is %q", first.Status.PodIP)
	second := b.mustPatchStatus(pod, `{"phase":"Running","podIPs":[{"$patch":"replace"},{"ip":"10.1.2.3"}]}`)
	b.Check(first.ResourceVersion == second.ResourceVersion, "version %s follows %s", second.ResourceVersion, first.ResourceVersion)
}

func statusUID(b *bench) {
	pod := b.createPod("a")
	other := pod.DeepCopy()
	other.UID = "00000000-1111-2222-3333-444444444444"
	_, err := b.patchStatus(other, `{"phase":"Running"}`)
	b.requireReason(err, "the patch", metav1.StatusReasonConflict)
	b.Check(adminGet(b, pod).Status.Phase == v1.PodPending, "it was carried out")
}

func statusMissing(b *bench) {
	pod := b.createPod("a")
	pod.Name = b.objectName("none")
	_, err := b.patchStatus(pod, `{"phase":"Running"}`)
	b.requireReason(err, "the patch", metav1.StatusReasonNotFound)
}

func statusForeign(b *bench) {
	_, err := b.patchStatus(b.createPod("a", b.setNodeNameToOtherNode), `{"phase":"Running"}`)
	b.requireReason(err, "the patch", metav1.StatusReasonForbidden)
}

func statusLabels(b *bench) {
	pod := b.createPod("a")
	_, err := b.h.Server.Pods().PatchStatus(b.ctx, podRef(pod), fmt.Appendf(nil, `{"metadata":{"uid":%q,"labels":{"a":"b"}},"status":{"phase":"Running"}}`, pod.UID))
	b.requireReason(err, "the patch", metav1.StatusReasonForbidden)
}

func statusVersion(b *bench) {
	pod := b.createPod("a")
	locked := func(version string) error {
		_, err := b.h.Server.Pods().PatchStatus(b.ctx, podRef(pod), fmt.Appendf(nil, `{"metadata":{"uid":%q,"resourceVersion":%q},"status":{"message":"m%s"}}`, pod.UID, version, version))
		return err
	}
	b.Must(locked(pod.ResourceVersion), "a patch with the newest version")
	b.requireReason(locked(pod.ResourceVersion), "a patch with an older version", metav1.StatusReasonConflict)
}

func statusAddresses(b *bench) {
	pod := b.createPod("a")
	b.mustPatchStatus(pod, `{"podIPs":[{"$patch":"replace"},{"ip":"10.1.2.3"},{"ip":"fd00::3"}],"podIP":"10.1.2.3"}`)
	out := b.mustPatchStatus(pod, `{"podIPs":[{"$patch":"replace"},{"ip":"10.1.2.4"}],"podIP":"10.1.2.4"}`)
	b.Check(out.Status.PodIP == "10.1.2.4" && len(out.Status.PodIPs) == 1 && out.Status.PodIPs[0].IP == "10.1.2.4", "the addresses are %q, %v", out.Status.PodIP, out.Status.PodIPs)
	out = b.mustPatchStatus(pod, `{"podIPs":[{"ip":"10.1.2.5"}]}`)
	b.Check(out.Status.PodIP == "10.1.2.4" && len(out.Status.PodIPs) == 1, "a merged list beside another podIP gives %q, %v", out.Status.PodIP, out.Status.PodIPs)
	out = b.mustPatchStatus(pod, `{"podIP":"10.1.2.6","hostIP":"10.1.2.7"}`)
	b.Check(out.Status.PodIPs[0].IP == "10.1.2.6" && len(out.Status.HostIPs) == 0, "the addresses are %v, %v", out.Status.PodIPs, out.Status.HostIPs)
	out = b.mustPatchStatus(pod, `{"podIP":null,"podIPs":[{"$patch":"replace"}]}`)
	b.Check(out.Status.PodIP == "" && len(out.Status.PodIPs) == 0, "the addresses are %q, %v", out.Status.PodIP, out.Status.PodIPs)
	for _, wrong := range []string{
		`{"podIPs":[{"$patch":"replace"},{"ip":"10.1.2.4"},{"ip":"10.1.2.5"}]}`,
		`{"podIPs":[{"$patch":"replace"},{"ip":"nowhere"}],"podIP":"nowhere"}`,
		`{"hostIPs":[{"ip":"10.1.2.4"},{"ip":"10.1.2.5"}]}`,
	} {
		_, err := b.patchStatus(pod, wrong)
		b.requireReason(err, wrong, metav1.StatusReasonInvalid)
	}
}

func statusRevived(b *bench) {
	never := b.createPod("never", func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyNever })
	failure := b.createPod("failure", func(pod *v1.Pod) { pod.Spec.RestartPolicy = v1.RestartPolicyOnFailure })
	always := b.createPod("always")
	ended := func(code int) string {
		return fmt.Sprintf(`{"containerStatuses":[{"name":"main","ready":false,"restartCount":0,"image":"i","imageID":"","state":{"terminated":{"exitCode":%d}}}]}`, code)
	}
	const running = `{"containerStatuses":[{"name":"main","ready":true,"restartCount":1,"image":"i","imageID":"","state":{"running":{}}}]}`
	for _, pod := range []*v1.Pod{never, failure, always} {
		b.mustPatchStatus(pod, ended(1))
	}
	_, err := b.patchStatus(never, running)
	b.requireReason(err, "a restart in spite of Never", metav1.StatusReasonInvalid)
	b.mustPatchStatus(failure, running)
	b.mustPatchStatus(always, running)
	b.mustPatchStatus(failure, ended(0))
	_, err = b.patchStatus(failure, running)
	b.requireReason(err, "a restart after success", metav1.StatusReasonInvalid)
}

func statusUser(b *bench) {
	pod := b.createPod("a")
	status := func(uid, gid, group int64) string {
		return fmt.Sprintf(`{"containerStatuses":[{"name":"main","ready":true,"restartCount":0,"image":"i","imageID":"","state":{"running":{}},"user":{"linux":{"uid":%d,"gid":%d,"supplementalGroups":[1,%d]}}}]}`, uid, gid, group)
	}
	out := b.mustPatchStatus(pod, status(math.MaxInt32, 0, math.MaxInt32))
	user := out.Status.ContainerStatuses[0].User
	b.Check(user != nil && user.Linux != nil && user.Linux.UID == math.MaxInt32 && slices.Equal(user.Linux.SupplementalGroups, []int64{1, math.MaxInt32}), "the user is %+v", user)
	const tooLarge = math.MaxInt32 + 1
	for _, wrong := range []string{status(-1, 1, 1), status(math.MaxUint32+1, 1, 1), status(1, -1, 1), status(1, tooLarge, 1), status(1, 1, -1), status(1, 1, tooLarge)} {
		_, err := b.patchStatus(pod, wrong)
		b.requireReason(err, wrong, metav1.StatusReasonInvalid)
	}
}

func statusObserved(b *bench) {
	pod := b.createPod("a")
	b.mustPatchStatus(pod, `{"observedGeneration":3}`)
	out := b.mustPatchStatus(pod, `{"observedGeneration":null,"message":"m"}`)
	b.Check(out.Status.ObservedGeneration == 3, "it is %d", out.Status.ObservedGeneration)
	_, err := b.patchStatus(pod, `{"observedGeneration":-1}`)
	b.requireReason(err, "a negative one", metav1.StatusReasonInvalid)
}

func statusPhase(b *bench) {
	pod := b.createPod("a")
	for _, phase := range []v1.PodPhase{v1.PodFailed, v1.PodRunning, v1.PodSucceeded, v1.PodPending} {
		out := b.mustPatchStatus(pod, fmt.Sprintf(`{"phase":%q}`, phase))
		b.Check(out.Status.Phase == phase, "it is %s", out.Status.Phase)
	}
}

func statusWrong(b *bench) {
	pod := b.createPod("a")
	for _, wrong := range []string{`{"phase":5}`, `{"qosClass":"Guaranteed"}`} {
		_, err := b.patchStatus(pod, wrong)
		b.requireReason(err, wrong, metav1.StatusReasonInvalid)
	}
	_, err := b.patchStatus(pod, `{`)
	b.requireReason(err, "no JSON", metav1.StatusReasonBadRequest)
	out := b.mustPatchStatus(pod, `{"qosClass":null}`)
	b.Check(out.Status.QOSClass == v1.PodQOSBestEffort, "the QoS class is %q", out.Status.QOSClass)
}

func statusDeleted(b *bench) {
	pod := b.createPod("a")
	b.mustPatchStatus(pod, `{"conditions":[{"type":"Ready","status":"True"},{"type":"Initialized","status":"True"}]}`)
	const without = `{"conditions":[{"type":"Ready","$patch":"delete"}]}`
	out := b.mustPatchStatus(pod, without)
	b.Check(len(out.Status.Conditions) == 1 && out.Status.Conditions[0].Type == v1.PodInitialized, "the conditions are %v", out.Status.Conditions)
	again := b.mustPatchStatus(pod, without)
	b.Check(again.ResourceVersion == out.ResourceVersion, "the second deletion has made a version")
}

var deleteCases = []Case{
	{"delete/handshake", "A pod that is deleted is shown with its grace, and goes when the node deletes it with a grace of zero: shown as modified, then deleted.", deleteHandshake},
	{"delete/shorter", "A deletion that is under way can be shortened and not be prolonged; one without a grace changes nothing.", deleteShorter},
	{"delete/terminal", "A pod in a terminal phase goes at once.", deleteTerminal},
	{"delete/ended", "A pod that ends while it is deleted stays until it is deleted with a grace of zero.", deleteEnded},
	{"delete/force", "A grace of zero removes a pod at once, for every client.", deleteForce},
	{"delete/finalizer", "A pod with finalizers stays, and goes with the last one.", deleteFinalizer},
	{"delete/uid", "A deletion with the UID of another incarnation, or with none, is refused with reason Conflict.", deleteUID},
	{"delete/foreign", "A deletion of another node's pod is refused with reason Forbidden, and of none with reason NotFound.", deleteForeign},
}

func deleteHandshake(b *bench) {
	pod := b.createPod("a")
	w := startWatch(b, b.h.Server.PodFeed(), apiserver.WatchOptions{SendInitialEvents: true})
	w.readInitialEvents()
	began := b.executor.Now()
	b.Must(b.h.Admin.Delete(b.ctx, pod, nil), "Delete")
	e := w.mustReadEventSkippingBookmarks()
	b.Check(e.Type == apiserver.Modified && e.Object.DeletionTimestamp != nil, "%s, deleted at %v", e.Type, e.Object.DeletionTimestamp)
	b.Check(e.Object.DeletionGracePeriodSeconds != nil && *e.Object.DeletionGracePeriodSeconds == 30, "the grace is %v", e.Object.DeletionGracePeriodSeconds)
	left := e.Object.DeletionTimestamp.Sub(began)
	b.Check(left > 25*time.Second && left < 60*time.Second, "the deletion is due after %s", left)
	b.Check(e.Object.Generation == pod.Generation+1, "the generation is %d after %d", e.Object.Generation, pod.Generation)
	ended := b.mustPatchStatus(pod, `{"phase":"Failed"}`)
	w.requireEvents("MODIFIED " + pod.Name)
	b.Check(ended.Generation == e.Object.Generation && ended.DeletionTimestamp != nil, "the answer to a patch does not tell of the deletion")
	zero := int64(0)
	b.Must(b.h.Server.Pods().Delete(b.ctx, podRef(pod), &zero), "Delete by the node")
	e = w.mustReadEventSkippingBookmarks()
	b.Check(e.Type == apiserver.Modified && e.Object.DeletionGracePeriodSeconds != nil && *e.Object.DeletionGracePeriodSeconds == 0, "%s, with grace %v", e.Type, e.Object.DeletionGracePeriodSeconds)
	e = w.mustReadEventSkippingBookmarks()
	b.Check(e.Type == apiserver.Deleted && e.Object.UID == pod.UID && e.Object.Status.Phase == v1.PodFailed, "%s %s", e.Type, e.Object.Status.Phase)
	b.requireGone(pod)
}

func deleteShorter(b *bench) {
	pod := b.createPod("a")
	grace := func(seconds ...int64) *v1.Pod {
		var period *int64
		if len(seconds) > 0 {
			period = &seconds[0]
		}
		b.Must(b.h.Admin.Delete(b.ctx, pod, period), "Delete")
		return adminGet(b, pod)
	}
	first := grace(20)
	for _, same := range []*v1.Pod{grace(), grace(60), grace(20)} {
		b.Check(same.ResourceVersion == first.ResourceVersion, "the deletion has changed the pod")
	}
	second := grace(5)
	b.Check(*second.DeletionGracePeriodSeconds == 5 && second.Generation == first.Generation, "the grace is %d, the generation %d", *second.DeletionGracePeriodSeconds, second.Generation)
	b.Check(first.DeletionTimestamp.Sub(second.DeletionTimestamp.Time) == 15*time.Second, "it is due at %s after %s", second.DeletionTimestamp, first.DeletionTimestamp)
}

func deleteTerminal(b *bench) {
	pod := b.createPod("a")
	b.mustPatchStatus(pod, `{"phase":"Succeeded"}`)
	b.Must(b.h.Admin.Delete(b.ctx, pod, nil), "Delete")
	b.requireGone(pod)
}

func deleteEnded(b *bench) {
	pod := b.createPod("a")
	b.Must(b.h.Admin.Delete(b.ctx, pod, nil), "Delete")
	b.mustPatchStatus(pod, `{"phase":"Succeeded"}`)
	b.Must(b.h.Admin.Delete(b.ctx, pod, nil), "Delete")
	b.Check(adminGet(b, pod).DeletionTimestamp != nil, "it is not being deleted")
}

func deleteForce(b *bench) {
	zero := int64(0)
	first, second := b.createPod("a"), b.createPod("b")
	b.Must(b.h.Admin.Delete(b.ctx, first, &zero), "Delete by the administrator")
	b.requireGone(first)
	b.Must(b.h.Server.Pods().Delete(b.ctx, podRef(second), &zero), "Delete by the node")
	b.requireGone(second)
}

func deleteFinalizer(b *bench) {
	pod := b.createPod("a", func(pod *v1.Pod) { pod.Finalizers = []string{"example.org/hold"} })
	zero := int64(0)
	b.Must(b.h.Server.Pods().Delete(b.ctx, podRef(pod), &zero), "Delete")
	held := adminGet(b, pod)
	b.Check(held.DeletionGracePeriodSeconds != nil && *held.DeletionGracePeriodSeconds == 0, "the grace is %v", held.DeletionGracePeriodSeconds)
	b.Must(b.h.Server.Pods().Delete(b.ctx, podRef(pod), &zero), "Delete again")
	held = adminGet(b, pod)
	held.Finalizers = nil
	_, err := b.h.Admin.Update(b.ctx, held)
	b.Must(err, "Update")
	b.requireGone(pod)
}

func deleteUID(b *bench) {
	pod := b.createPod("a")
	zero := int64(0)
	for _, uid := range []types.UID{"", "00000000-1111-2222-3333-444444444444"} {
		other := podRef(pod)
		other.UID = uid
		b.requireReason(b.h.Server.Pods().Delete(b.ctx, other, &zero), "Delete", metav1.StatusReasonConflict)
	}
	b.Check(adminGet(b, pod).DeletionTimestamp == nil, "it is being deleted")
}

func deleteForeign(b *bench) {
	pod := b.createPod("a", b.setNodeNameToOtherNode)
	b.createPod("own")
	zero := int64(0)
	b.requireReason(b.h.Server.Pods().Delete(b.ctx, podRef(pod), &zero), "Delete of another node's pod", metav1.StatusReasonForbidden)
	pod.Name = b.objectName("none")
	b.requireReason(b.h.Server.Pods().Delete(b.ctx, podRef(pod), &zero), "Delete of no pod", metav1.StatusReasonNotFound)
}
