package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCluster_Claim: a pod waits, and says why, until its claim is bound, and then runs. No
// further call is made for the volume.
func TestCluster_Claim(t *testing.T) {
	h := simulate(t, 1)
	admin := h.server.Admin()
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default"},
		Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending}}
	made, err := admin.Create(t.Context(), claim)
	require.NoError(t, err)
	h.bind("db", func(pod *v1.Pod) {
		pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data", SubPath: "db"}}
	})
	h.start()
	h.after(30 * time.Second)
	assert.Equal(t, v1.PodPending, h.phase("db"))
	reported := map[string]string{}
	for _, e := range admin.Events() {
		reported[e.Reason] = e.Message
	}
	assert.Equal(t, reported["FailedMount"], `MountVolume.SetUp failed for volume "data" : the claim default/data is not bound to a volume: its phase is "Pending"`)
	claim.Spec.VolumeName, claim.Status.Phase = "disk", v1.ClaimBound
	_, err = admin.Update(t.Context(), claim)
	require.NoError(t, err)
	_, err = admin.Create(t.Context(), &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Spec: v1.PersistentVolumeSpec{
		ClaimRef:               &v1.ObjectReference{Namespace: "default", Name: "data", UID: made.GetUID()},
		PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/srv"}},
	}})
	require.NoError(t, err)
	h.after(30 * time.Second)
	assert.Equal(t, v1.PodRunning, h.phase("db"))
	h.server.TakeRequests()
	h.after(5 * time.Minute)
	for _, r := range h.server.TakeRequests() {
		assert.NotContains(t, r.Resource, "persistentvolume")
	}
}
