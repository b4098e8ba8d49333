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

// describeNode keeps the node's object. Its heartbeat alone is news every 5 minutes only.
func (a *API) describeNode(ctx context.Context) {
	facts := a.facts(ctx)
	before, _ := a.served["nodes"].get("", a.config.NodeName).(*v1.Node)
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
	if !nodestatus.Due(sent, sent, status, since) {
		return
	}
	n := nodestatus.Node(nodestatus.Spec{
		Name: a.config.NodeName, OS: facts.Info.OperatingSystem, Arch: facts.Info.Architecture, Labels: a.config.Labels, Taints: a.config.Taints,
	}, status)
	n.UID, n.CreationTimestamp = types.UID(n.Name), metav1.NewTime(a.started)
	a.served["nodes"].put(kinded(n, "Node"))
}

const leasesKey = "leases." + coordinationv1.GroupName

// leaseDuration is that of a kubelet, in seconds.
const leaseDuration = 40

// renewLease keeps the lease of the node, as a kubelet does, as long as the node is healthy.
func (a *API) renewLease() {
	before, _ := a.served[leasesKey].get(v1.NamespaceNodeLease, a.config.NodeName).(*coordinationv1.Lease)
	if before != nil && a.now().Sub(before.Spec.RenewTime.Time) < tick/2 || a.config.Node.Healthy() != nil {
		return
	}
	l := newLease()
	l.Namespace, l.Name, l.UID, l.CreationTimestamp = v1.NamespaceNodeLease, a.config.NodeName, types.UID("lease-"+a.config.NodeName), metav1.NewTime(a.started)
	l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: a.config.NodeName, UID: types.UID(a.config.NodeName)}}
	l.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &a.config.NodeName, LeaseDurationSeconds: new(int32(leaseDuration)), RenewTime: new(metav1.NewMicroTime(a.now())),
	}
	a.served[leasesKey].put(l)
}

func newLease() *coordinationv1.Lease {
	return &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease"}}
}

// facts are those of the Config, completed. A panic counts as nothing said.
func (a *API) facts(ctx context.Context) (f nodestatus.Facts) {
	if a.config.Facts != nil {
		func() {
			var err error
			defer a.panics.Recover("Facts", &err)
			f = a.config.Facts(ctx)
		}()
	}
	f.Now = a.now()
	f.Info.OperatingSystem = cmp.Or(f.Info.OperatingSystem, goruntime.GOOS)
	f.Info.Architecture = cmp.Or(f.Info.Architecture, goruntime.GOARCH)
	f.Info.KubeletVersion = cmp.Or(f.Info.KubeletVersion, Version)
	if f.RuntimeSeen.IsZero() && len(f.Problems) == 0 {
		f.RuntimeSeen, f.Runtime = f.Now, runtime.RuntimeStatus{RuntimeReady: true, NetworkReady: true}
		if err := a.config.Node.Healthy(); err != nil {
			f.Problems = []string{plain.Text(err.Error())}
		}
	}
	return f
}
