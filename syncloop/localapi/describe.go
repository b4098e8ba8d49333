package localapi

import (
	"cmp"
	"context"
	goruntime "runtime"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/plain"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/nodestatus"
)

// nodeObjects maintains the Node object and its lease.
type nodeObjects struct{ *backend }

// updateNodeObjectIfDue stores a new Node object if there is none, if the status has changed, or if the last
// heartbeat is 5 minutes old.
func (o *nodeObjects) updateNodeObjectIfDue(ctx context.Context) {
	facts := o.collectFacts(ctx)
	before, _ := o.served["nodes"].shownObjectOrNil("", o.config.NodeName).(*v1.Node)
	var previous v1.NodeStatus
	var sent *v1.NodeStatus
	var since time.Duration
	if before != nil {
		previous, sent = before.Status, &before.Status
		for _, c := range previous.Conditions {
			since = facts.Now.Sub(c.LastHeartbeatTime.Time)
		}
	}
	status := nodestatus.Status(&previous, facts)
	if !nodestatus.ShouldSendStatus(sent, sent, status, since) {
		return
	}
	n := nodestatus.Node(nodestatus.Spec{
		Name: o.config.NodeName, OS: facts.Info.OperatingSystem, Arch: facts.Info.Architecture, Labels: o.config.Labels, Taints: o.config.Taints,
	}, status)
	n.UID, n.CreationTimestamp = types.UID(n.Name), metav1.NewTime(o.started)
	o.served["nodes"].putIfChanged(withKind(n, "Node"))
}

const leasesKey = "leases." + coordinationv1.GroupName

// leaseDuration is the kubelet's lease duration, in seconds.
const leaseDuration = 40

// renewLeaseIfDue renews the node's lease, or creates it. It does nothing if the node is unhealthy, or if the
// last renewal is less than half a refreshPeriod ago.
func (o *nodeObjects) renewLeaseIfDue() {
	before, _ := o.served[leasesKey].shownObjectOrNil(v1.NamespaceNodeLease, o.config.NodeName).(*coordinationv1.Lease)
	if before != nil && o.now().Sub(before.Spec.RenewTime.Time) < refreshPeriod/2 || o.config.Node.Health().Err != nil {
		return
	}
	l := newLease()
	l.Namespace, l.Name, l.UID, l.CreationTimestamp = v1.NamespaceNodeLease, o.config.NodeName, types.UID("lease-"+o.config.NodeName), metav1.NewTime(o.started)
	l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: o.config.NodeName, UID: types.UID(o.config.NodeName)}}
	l.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &o.config.NodeName, LeaseDurationSeconds: new(int32(leaseDuration)), RenewTime: new(metav1.NewMicroTime(o.now())),
	}
	o.served[leasesKey].putIfChanged(l)
}

// newLease returns an empty Lease with its kind.
func newLease() *coordinationv1.Lease {
	return &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease"}}
}

// collectFacts returns the facts of Config.Facts with the current time, and with defaults for an empty OS,
// architecture and kubelet version. If they have neither a runtime status nor a problem, the runtime counts as
// ready, and the error of an unhealthy node is added as a problem. If Config.Facts panics, all facts are
// defaults.
func (o *nodeObjects) collectFacts(ctx context.Context) (f nodestatus.Facts) {
	if o.config.Facts != nil {
		func() {
			var err error
			defer o.panics.Recover("Facts", &err)
			f = o.config.Facts(ctx)
		}()
	}
	f.Now = o.now()
	f.Info.OperatingSystem = cmp.Or(f.Info.OperatingSystem, goruntime.GOOS)
	f.Info.Architecture = cmp.Or(f.Info.Architecture, goruntime.GOARCH)
	f.Info.KubeletVersion = cmp.Or(f.Info.KubeletVersion, Version)
	if f.RuntimeSeen.IsZero() && len(f.Problems) == 0 {
		f.RuntimeSeen, f.Runtime = f.Now, runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true}
		if err := o.config.Node.Health().Err; err != nil {
			f.Problems = []string{plain.Text(err.Error())}
		}
	}
	return f
}
