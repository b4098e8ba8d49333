package apiservertest

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var mirrorCases = []Case{
	{"mirror/create", "A node can create the mirror pod of a static pod; the server assigns the UID.", mirrorCreate},
	{"mirror/refused", "A mirror pod without annotation or owner, of another node, or with references is refused with reason Forbidden.", mirrorRefused},
	{"mirror/again", "A mirror pod whose name is taken is refused with reason AlreadyExists, in an unknown namespace with reason NotFound.", mirrorAgain},
}

// newMirrorPod returns a mirror pod of a static pod, with the Node object as its owner. It does not create the
// pod at the server.
func (b *bench) newMirrorPod(node *v1.Node) *v1.Pod {
	yes := true
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.h.Namespace, Name: b.objectName("static-" + b.h.Node), UID: "0123456789abcdef0123456789abcdef",
			Annotations: map[string]string{
				v1.MirrorPodAnnotationKey: "hash", "kubernetes.io/config.hash": "hash",
				"kubernetes.io/config.source": "file", "kubernetes.io/config.seen": "2030-01-01T00:00:00Z",
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: &yes}},
		},
		Spec: v1.PodSpec{NodeName: b.h.Node, Containers: []v1.Container{{Name: "main", Image: "example.org/image:1"}}},
	}
}

// createMirrorPodUntilAllowed creates a mirror pod as the node and appends it to b.created. It retries while
// the server responds with Forbidden or NotFound, because the server may not know the node yet. Another error,
// or the end of the case's time, fails the case.
func (b *bench) createMirrorPodUntilAllowed(mirror *v1.Pod) (out *v1.Pod) {
	b.Helper()
	b.created = append(b.created, mirror.DeepCopy())
	b.retryUntilAllowed("Create", func() (err error) {
		out, err = b.h.Server.Pods().Create(b.ctx, mirror)
		return err
	})
	return out
}

func mirrorCreate(b *bench) {
	mirror := b.newMirrorPod(b.registerNode())
	out := b.createMirrorPodUntilAllowed(mirror)
	b.Check(out.UID != "" && out.UID != mirror.UID, "the UID is %q", out.UID)
	b.Check(out.Annotations[v1.MirrorPodAnnotationKey] == "hash" && out.Spec.NodeName == b.h.Node && out.Status.Phase == v1.PodPending, "it is %s on %s", out.Status.Phase, out.Spec.NodeName)
	b.mustPatchStatus(out, `{"phase":"Running"}`)
	zero := int64(0)
	b.Must(b.h.Server.Pods().Delete(b.ctx, podRef(out), &zero), "Delete")
	b.requireGone(out)
}

func mirrorRefused(b *bench) {
	unregistered := b.newMirrorPod(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: b.h.Node, UID: "00000000-1111-2222-3333-444444444444"}})
	_, err := b.h.Server.Pods().Create(b.ctx, unregistered)
	b.requireReason(err, "the mirror pod of a node that is not registered", metav1.StatusReasonNotFound)
	node := b.registerNode()
	b.createMirrorPodUntilAllowed(b.newMirrorPod(node))
	for what, edit := range map[string]func(*v1.Pod){
		"without annotation":     func(pod *v1.Pod) { delete(pod.Annotations, v1.MirrorPodAnnotationKey) },
		"without owner":          func(pod *v1.Pod) { pod.OwnerReferences = nil },
		"of another UID":         func(pod *v1.Pod) { pod.OwnerReferences[0].UID = "00000000-1111-2222-3333-444444444444" },
		"of another owner":       func(pod *v1.Pod) { pod.OwnerReferences[0].Name = "other" },
		"without a controller":   func(pod *v1.Pod) { pod.OwnerReferences[0].Controller = nil },
		"bound elsewhere":        b.setNodeNameToOtherNode,
		"with a service account": func(pod *v1.Pod) { pod.Spec.ServiceAccountName = "default" },
		"with a secret":          func(pod *v1.Pod) { withVolume(pod, v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "s"}}) },
		"with a config map":      func(pod *v1.Pod) { withConfigMap(pod, "c") },
		"with a claim": func(pod *v1.Pod) {
			withVolume(pod, v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}})
		},
		"with a second owner": func(pod *v1.Pod) {
			second := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "second", UID: "00000000-1111-2222-3333-444444444444"}
			pod.OwnerReferences = append(pod.OwnerReferences, second)
		},
		"with a token of account": func(pod *v1.Pod) { withToken(pod, "") },
	} {
		mirror := b.newMirrorPod(node)
		mirror.Name += "-2"
		edit(mirror)
		_, err := b.h.Server.Pods().Create(b.ctx, mirror)
		b.requireReason(err, "a mirror pod "+what, metav1.StatusReasonForbidden)
	}
}

func mirrorAgain(b *bench) {
	mirror := b.newMirrorPod(b.registerNode())
	b.createMirrorPodUntilAllowed(mirror)
	_, err := b.h.Server.Pods().Create(b.ctx, mirror)
	b.requireReason(err, "the second one", metav1.StatusReasonAlreadyExists)
	mirror.Namespace = b.objectName("no-namespace")
	_, err = b.h.Server.Pods().Create(b.ctx, mirror)
	b.requireReason(err, "one in an unknown namespace", metav1.StatusReasonNotFound)
}

var nodeCases = []Case{
	{"node/create", "A node registers itself with labels, taints and status; the taint not-ready is added.", nodeCreate},
	{"node/refused", "A node cannot register another node, a node twice, or labels that are reserved.", nodeRefused},
	{"node/get", "Get returns the own node: reason NotFound before it is registered, Forbidden for another.", nodeGet},
	{"node/patch", "Patch changes labels and the spec, not the status, and neither taints nor reserved labels.", nodePatch},
	{"node/once", "The range of pod addresses and the provider ID can be set once.", nodeOnce},
	{"node/status", "PatchStatus merges conditions and capacity, not the spec; one that changes nothing makes no new version.", nodeStatus},
}

func nodeCreate(b *bench) {
	out := b.registerNode(func(node *v1.Node) {
		node.Labels = map[string]string{v1.LabelHostname: b.h.Node, "example.org/role": "test", "node.kubernetes.io/x": "y"}
		node.Spec.Taints = []v1.Taint{{Key: "example.org/t", Effect: v1.TaintEffectNoSchedule}}
		node.Status.Capacity = v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}
		node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	})
	b.Check(out.UID != "" && len(out.Labels) == 3 && len(out.Status.Conditions) == 1 && out.Status.Capacity.Cpu().Value() == 2, "the node is %+v", out)
	taints := map[string]v1.TaintEffect{}
	for _, taint := range out.Spec.Taints {
		taints[taint.Key] = taint.Effect
	}
	b.Check(len(taints) == 2 && taints["example.org/t"] != "" && taints[v1.TaintNodeNotReady] == v1.TaintEffectNoSchedule, "the taints are %v", taints)
}

func nodeRefused(b *bench) {
	for _, label := range []string{"node-role.kubernetes.io/control-plane", "node-restriction.kubernetes.io/x", "kubernetes.io/anything", "x.k8s.io/y"} {
		_, err := b.h.Server.Nodes().Create(b.ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: b.h.Node, Labels: map[string]string{label: ""}}})
		b.requireReason(err, "the label "+label, metav1.StatusReasonForbidden)
	}
	_, err := b.h.Server.Nodes().Create(b.ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: b.h.Node + "-other"}})
	b.requireReason(err, "another node", metav1.StatusReasonForbidden)
	b.registerNode()
	_, err = b.h.Server.Nodes().Create(b.ctx, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: b.h.Node}})
	b.requireReason(err, "a second node", metav1.StatusReasonAlreadyExists)
}

func nodeGet(b *bench) {
	_, err := b.h.Server.Nodes().Get(b.ctx, b.h.Node)
	b.requireReason(err, "Get before the registration", metav1.StatusReasonNotFound)
	node := b.registerNode()
	got, err := b.h.Server.Nodes().Get(b.ctx, b.h.Node)
	b.Must(err, "Get")
	b.Check(got.UID == node.UID, "it is another node")
	_, err = b.h.Server.Nodes().Get(b.ctx, b.h.Node+"-other")
	b.requireReason(err, "Get of another node", metav1.StatusReasonForbidden)
}

func nodePatch(b *bench) {
	_, err := b.h.Server.Nodes().Patch(b.ctx, b.h.Node, []byte(`{"metadata":{"labels":{"example.org/a":"b"}}}`))
	b.requireReason(err, "a patch before the registration", metav1.StatusReasonNotFound)
	b.registerNode(func(node *v1.Node) { node.Labels = map[string]string{"example.org/old": "x"} })
	out, err := b.h.Server.Nodes().Patch(b.ctx, b.h.Node, []byte(`{"metadata":{"labels":{"example.org/a":"b","example.org/old":null},"annotations":{"a":"b"}},"spec":{"unschedulable":true},"status":{"capacity":{"cpu":"9"}}}`))
	b.Must(err, "Patch")
	b.Check(len(out.Labels) == 1 && out.Labels["example.org/a"] == "b" && out.Annotations["a"] == "b" && out.Spec.Unschedulable, "labels %v, annotations %v", out.Labels, out.Annotations)
	b.Check(out.Status.Capacity.Cpu().IsZero(), "a patch has changed the status")
	for _, patch := range []string{
		`{"metadata":{"labels":{"node-role.kubernetes.io/x":""}}}`,
		`{"spec":{"taints":[{"key":"example.org/t","effect":"NoSchedule"}]}}`,
		`{"spec":{"taints":null}}`,
	} {
		_, err = b.h.Server.Nodes().Patch(b.ctx, b.h.Node, []byte(patch))
		b.requireReason(err, patch, metav1.StatusReasonForbidden)
	}
	other := adminCreate(b, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: b.h.Node + "-other"}})
	_, err = b.h.Server.Nodes().Patch(b.ctx, other.Name, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	b.requireReason(err, "a patch of another node", metav1.StatusReasonForbidden)
	_, err = b.h.Server.Nodes().PatchStatus(b.ctx, other.Name, []byte(`{"status":{"capacity":{"cpu":"9"}}}`))
	b.requireReason(err, "a patch of another node's status", metav1.StatusReasonForbidden)
}

func nodeOnce(b *bench) {
	b.registerNode()
	patch := func(spec string) error {
		_, err := b.h.Server.Nodes().Patch(b.ctx, b.h.Node, []byte(`{"spec":`+spec+`}`))
		return err
	}
	for range 2 {
		b.Must(patch(`{"podCIDR":"10.1.0.0/24","podCIDRs":["10.1.0.0/24"]}`), "Patch")
		b.Must(patch(`{"providerID":"example://1"}`), "Patch")
	}
	b.requireReason(patch(`{"providerID":"example://2"}`), "another provider ID", metav1.StatusReasonInvalid)
	b.requireReason(patch(`{"podCIDR":"10.2.0.0/24","podCIDRs":["10.2.0.0/24"]}`), "another range of addresses", metav1.StatusReasonInvalid)
}

func nodeStatus(b *bench) {
	b.registerNode(func(node *v1.Node) {
		node.Status.Conditions = []v1.NodeCondition{{Type: "Foreign", Status: v1.ConditionTrue}}
	})
	const patch = `{"status":{"conditions":[{"type":"Ready","status":"True"}],"capacity":{"cpu":"2","memory":"1Gi"},"addresses":[{"$patch":"replace"},{"type":"InternalIP","address":"10.0.0.9"}]},"spec":{"unschedulable":true}}`
	first, err := b.h.Server.Nodes().PatchStatus(b.ctx, b.h.Node, []byte(patch))
	b.Must(err, "PatchStatus")
	b.Check(len(first.Status.Conditions) == 2 && first.Status.Capacity.Cpu().Value() == 2 && len(first.Status.Addresses) == 1, "the status is %+v", first.Status)
	b.Check(!first.Spec.Unschedulable, "a patch of the status has changed the spec")
	second, err := b.h.Server.Nodes().PatchStatus(b.ctx, b.h.Node, []byte(patch))
	b.Must(err, "PatchStatus")
	b.Check(second.ResourceVersion == first.ResourceVersion, "version %s follows %s", second.ResourceVersion, first.ResourceVersion)
	third, err := b.h.Server.Nodes().PatchStatus(b.ctx, b.h.Node, []byte(`{"status":{"capacity":{"memory":null}}}`))
	b.Must(err, "PatchStatus")
	b.Check(len(third.Status.Capacity) == 1, "the capacity is %v", third.Status.Capacity)
}

var leaseCases = []Case{
	{"lease/renew", "A node creates its lease and renews it; a version that is not the newest is refused with reason Conflict.", leaseRenew},
	{"lease/missing", "A lease that does not exist is refused with reason NotFound, a second one with reason AlreadyExists.", leaseMissing},
	{"lease/deleted", "The renewal of a lease that was deleted is refused with reason Conflict; an update without UID creates it again.", leaseDeleted},
	{"lease/version", "An update without a resource version is refused with reason Invalid.", leaseVersion},
	{"lease/foreign", "The lease of another node is refused with reason Forbidden.", leaseForeign},
}

func (b *bench) newLease(name string) *coordinationv1.Lease {
	seconds, now := int32(40), metav1.NewMicroTime(b.executor.Now())
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: leaseNamespace, Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
}

func (b *bench) createLease() *coordinationv1.Lease {
	b.Helper()
	lease := b.newLease(b.h.Node)
	b.created = append(b.created, lease.DeepCopy())
	out, err := b.h.Server.Leases().Create(b.ctx, lease)
	b.Must(err, "Create")
	return out
}

func leaseRenew(b *bench) {
	first := b.createLease()
	renewed := first.DeepCopy()
	now := metav1.NewMicroTime(b.executor.Now().Add(10 * time.Second).Truncate(time.Microsecond))
	renewed.Spec.RenewTime = &now
	second, err := b.h.Server.Leases().Update(b.ctx, renewed)
	b.Must(err, "Update")
	b.Check(isNewerVersion(second.ResourceVersion, first.ResourceVersion) && second.Spec.RenewTime.Equal(&now), "renewed at %v, version %s", second.Spec.RenewTime, second.ResourceVersion)
	got, err := b.h.Server.Leases().Get(b.ctx, b.h.Node)
	b.Must(err, "Get")
	b.Check(got.ResourceVersion == second.ResourceVersion, "it is of version %s", got.ResourceVersion)
	_, err = b.h.Server.Leases().Update(b.ctx, renewed)
	b.requireReason(err, "an update of an older version", metav1.StatusReasonConflict)
}

func leaseMissing(b *bench) {
	_, err := b.h.Server.Leases().Get(b.ctx, b.h.Node)
	b.requireReason(err, "Get", metav1.StatusReasonNotFound)
	b.createLease()
	_, err = b.h.Server.Leases().Create(b.ctx, b.newLease(b.h.Node))
	b.requireReason(err, "a second lease", metav1.StatusReasonAlreadyExists)
}

func leaseDeleted(b *bench) {
	lease := b.createLease()
	b.Must(b.h.Admin.Delete(b.ctx, lease, nil), "Delete")
	_, err := b.h.Server.Leases().Update(b.ctx, lease)
	b.requireReason(err, "the renewal", metav1.StatusReasonConflict)
	again, err := b.h.Server.Leases().Update(b.ctx, b.newLease(b.h.Node))
	b.Must(err, "an update without UID")
	b.Check(again.UID != "" && again.UID != lease.UID, "the UID is %q", again.UID)
}

func leaseVersion(b *bench) {
	lease := b.createLease()
	lease.ResourceVersion = ""
	_, err := b.h.Server.Leases().Update(b.ctx, lease)
	b.requireReason(err, "the update", metav1.StatusReasonInvalid)
}

func leaseForeign(b *bench) {
	other := b.h.Node + "-other"
	_, err := b.h.Server.Leases().Get(b.ctx, other)
	b.requireReason(err, "Get", metav1.StatusReasonForbidden)
	_, err = b.h.Server.Leases().Create(b.ctx, b.newLease(other))
	b.requireReason(err, "Create", metav1.StatusReasonForbidden)
	lease := b.newLease(other)
	lease.ResourceVersion = "1"
	_, err = b.h.Server.Leases().Update(b.ctx, lease)
	b.requireReason(err, "Update", metav1.StatusReasonForbidden)
}
