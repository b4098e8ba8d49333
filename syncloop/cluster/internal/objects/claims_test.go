package objects_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/syncloop/cluster/apiserver"
	"github.com/podkeel/podkeel/syncloop/cluster/apiservertest"
	"github.com/podkeel/podkeel/syncloop/cluster/internal/objects"
)

// bench is a server with a node, a claim that is bound to a volume, and a pod.
type bench struct {
	*testing.T
	server *apiservertest.Server
	source *objects.Claims
	claim  *v1.PersistentVolumeClaim
	volume *v1.PersistentVolume
	pod    *v1.Pod
	// deleted is when all claims were deleted.
	deleted *metav1.Time
}

// deleting is a server that shows claims that are deleted and not gone.
type deleting struct {
	apiserver.Server
	at **metav1.Time
}

func (d deleting) Claims() apiserver.Claims { return deletingClaims{d.Server.Claims(), d.at} }

type deletingClaims struct {
	apiserver.Claims
	at **metav1.Time
}

func (d deletingClaims) GetClaim(ctx context.Context, namespace, name string) (*v1.PersistentVolumeClaim, error) {
	claim, err := d.Claims.GetClaim(ctx, namespace, name)
	if err == nil {
		claim.DeletionTimestamp = *d.at
	}
	return claim, err
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, server: apiservertest.New(apiservertest.Config{})}
	var err error
	b.source, err = objects.NewClaims(objects.ClaimsConfig{Server: deleting{b.server.Client("n1"), &b.deleted}, NodeName: "n1"})
	require.NoError(t, err)
	b.create(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"disk": "ssd"}}})
	b.claim = b.create(&v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"},
		Spec:       v1.PersistentVolumeClaimSpec{VolumeName: "disk"}, Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound},
	}).(*v1.PersistentVolumeClaim)
	b.volume = b.create(&v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Spec: v1.PersistentVolumeSpec{
		ClaimRef:               &v1.ObjectReference{Namespace: "default", Name: "data", UID: b.claim.UID},
		PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/srv"}},
	}}).(*v1.PersistentVolume)
	b.pod = b.create(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"}, Spec: v1.PodSpec{
		NodeName: "n1", Containers: []v1.Container{{Name: "c", Image: "db:1"}}, Volumes: []v1.Volume{
			{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
			{Name: "own", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{}}}},
		},
	}}).(*v1.Pod)
	b.server.TakeRequests()
	return b
}

func (b *bench) create(o apiservertest.Object) apiservertest.Object {
	b.Helper()
	out, err := b.server.Admin().Create(b.Context(), o)
	require.NoError(b, err)
	return out
}

func (b *bench) update(o apiservertest.Object) {
	b.Helper()
	o.SetResourceVersion("")
	_, err := b.server.Admin().Update(b.Context(), o)
	require.NoError(b, err)
}

// ask is the answer for a volume of the pod, and how many requests it took.
func (b *bench) ask(index int) string {
	source, readOnly, err := b.source.Source(b.Context(), b.pod, &b.pod.Spec.Volumes[index])
	requests := len(b.server.TakeRequests())
	if err != nil {
		return fmt.Sprintf("%v (%d requests)", err, requests)
	}
	kind, at := "hostPath", ""
	if source.Local != nil {
		kind, at = "local", source.Local.Path
	} else {
		at = source.HostPath.Path
	}
	return fmt.Sprintf("%s %s readOnly=%t (%d requests)", kind, at, readOnly, requests)
}

// What a pod was told stays true for it, and costs no call.
func TestSource_Kept(t *testing.T) {
	b := newBench(t)
	assert.Equal(t, `hostPath /srv readOnly=false (2 requests)`, b.ask(0))
	b.server.Down()
	assert.Equal(t, `hostPath /srv readOnly=false (0 requests)`, b.ask(0))
	b.source.Forget(b.pod.UID)
	assert.Contains(t, b.ask(0), "objects: the claim default/data: ")
	b.server.Up()
	b.pod.Spec.Volumes[0].PersistentVolumeClaim.ReadOnly = true
	assert.Equal(t, `hostPath /srv readOnly=true (2 requests)`, b.ask(0))
}

// Each claim that cannot be used is an error that says why, and the next call asks again.
func TestSource_Refused(t *testing.T) {
	deleted := metav1.NewTime(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	affinity := func(value string) *v1.VolumeNodeAffinity {
		return &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}}}}
	}
	for _, c := range []struct {
		edit func(*v1.PersistentVolumeClaim, *v1.PersistentVolume, *v1.Pod)
		want string
	}{
		{func(c *v1.PersistentVolumeClaim, _ *v1.PersistentVolume, _ *v1.Pod) { c.Status.Phase = v1.ClaimPending },
			`objects: the claim default/data is not bound to a volume: its phase is "Pending" (1 requests)`},
		{func(c *v1.PersistentVolumeClaim, _ *v1.PersistentVolume, _ *v1.Pod) { c.Spec.VolumeName = "" },
			`objects: the claim default/data is not bound to a volume: its phase is "Bound" (1 requests)`},
		{func(c *v1.PersistentVolumeClaim, _ *v1.PersistentVolume, _ *v1.Pod) { c.DeletionTimestamp = &deleted },
			`objects: the claim default/data is being deleted (1 requests)`},
		{func(c *v1.PersistentVolumeClaim, _ *v1.PersistentVolume, p *v1.Pod) {
			c.DeletionTimestamp = &deleted
			p.Status.Phase = v1.PodRunning
		}, `hostPath /srv readOnly=false (2 requests)`},
		{func(c *v1.PersistentVolumeClaim, _ *v1.PersistentVolume, _ *v1.Pod) {
			c.Spec.VolumeMode = new(v1.PersistentVolumeBlock)
		},
			`objects: the claim default/data is for a volume of the mode Block, which cannot be mounted (1 requests)`},
		{func(_ *v1.PersistentVolumeClaim, v *v1.PersistentVolume, _ *v1.Pod) {
			v.Spec.ClaimRef.UID = "other"
		},
			`objects: the persistent volume disk: it is bound to another claim (2 requests)`},
		{func(_ *v1.PersistentVolumeClaim, v *v1.PersistentVolume, _ *v1.Pod) {
			v.Spec.HostPath, v.Spec.NFS = nil, &v1.NFSVolumeSource{}
		}, `objects: the persistent volume disk: its kind nfs is not supported (2 requests)`},
		{func(_ *v1.PersistentVolumeClaim, v *v1.PersistentVolume, _ *v1.Pod) { v.Spec.HostPath.Path = "srv" },
			`objects: the persistent volume disk: its path "srv" is not absolute (2 requests)`},
		{func(_ *v1.PersistentVolumeClaim, v *v1.PersistentVolume, _ *v1.Pod) {
			v.Spec.HostPath, v.Spec.Local, v.Spec.NodeAffinity = nil, &v1.LocalVolumeSource{Path: "/mnt"}, affinity("ssd")
		}, `local /mnt readOnly=false (3 requests)`},
		{func(_ *v1.PersistentVolumeClaim, v *v1.PersistentVolume, _ *v1.Pod) {
			v.Spec.NodeAffinity = affinity("hdd")
		},
			`objects: the persistent volume disk: its node affinity does not select the node n1 (3 requests)`},
	} {
		b := newBench(t)
		c.edit(b.claim, b.volume, b.pod)
		b.deleted = b.claim.DeletionTimestamp
		b.update(b.claim)
		b.update(b.volume)
		assert.Equal(t, c.want, b.ask(0))
	}
}

// A volume with ReadWriteOncePod is one pod's until that is forgotten, whatever the order.
func TestSource_ReadWriteOncePod(t *testing.T) {
	b := newBench(t)
	b.volume.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
	b.update(b.volume)
	assert.Equal(t, `hostPath /srv readOnly=false (2 requests)`, b.ask(0))
	first := b.pod
	b.pod = first.DeepCopy()
	b.pod.Name, b.pod.UID = "other", "other"
	assert.Equal(t, "objects: the persistent volume disk has the access mode ReadWriteOncePod, and is in use by the pod default/db (2 requests)", b.ask(0))
	b.source.Forget(first.UID)
	assert.Equal(t, `hostPath /srv readOnly=false (2 requests)`, b.ask(0))
	b.pod = first
	assert.Contains(t, b.ask(0), "in use by the pod default/other")
}

// The claim of an ephemeral volume has to be the pod's own.
func TestSource_Ephemeral(t *testing.T) {
	b := newBench(t)
	assert.Contains(t, b.ask(1), `objects: the claim default/db-own: persistentvolumeclaims "db-own" not found`)
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db-own"},
		Spec: v1.PersistentVolumeClaimSpec{VolumeName: "disk"}, Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound}}
	claim = b.create(claim).(*v1.PersistentVolumeClaim)
	b.volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "db-own", UID: claim.UID}
	b.update(b.volume)
	assert.Equal(t, "objects: the claim default/db-own was not made for the pod (1 requests)", b.ask(1))
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "db", UID: types.UID(b.pod.UID), Controller: new(true)}}
	b.update(claim)
	assert.Equal(t, `hostPath /srv readOnly=false (2 requests)`, b.ask(1))
}

func TestNew_Refused(t *testing.T) {
	_, err := objects.NewClaims(objects.ClaimsConfig{})
	assert.EqualError(t, err, "objects: ClaimsConfig.Server and ClaimsConfig.NodeName are required")
}
