package reconcile

import (
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
)

// statusWithClaim returns a status with the fields that others write, without their conditions.
func statusWithClaim(phase v1.PodPhase, claim string) *v1.PodStatus {
	return &v1.PodStatus{
		Phase: phase, NominatedNodeName: "node-of-" + claim,
		ResourceClaimStatuses:                []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &claim}},
		ExtendedResourceClaimStatus:          &v1.PodExtendedResourceClaimStatus{ResourceClaimName: claim},
		NodeAllocatableResourceClaimStatuses: []v1.NodeAllocatableResourceClaimStatus{{ResourceClaimName: claim}},
	}
}

// What others write to a status is no news of the node's, whatever of it differs.
func TestEqual_FieldsOfOthers(t *testing.T) {
	for _, other := range []*v1.PodStatus{statusWithClaim(v1.PodRunning, "b"), {Phase: v1.PodRunning}} {
		assert.True(t, Equal(statusWithClaim(v1.PodRunning, "a"), other))
		assert.True(t, Equal(other, statusWithClaim(v1.PodRunning, "a")))
	}
	assert.False(t, Equal(statusWithClaim(v1.PodRunning, "a"), statusWithClaim(v1.PodFailed, "a")))
}

// A write of the node does not take away what others wrote: theirs is newer.
func TestMerge_FieldsOfOthers(t *testing.T) {
	for name, mine := range map[string]*v1.PodStatus{"none": {Phase: v1.PodFailed}, "older": statusWithClaim(v1.PodFailed, "old")} {
		merged := Merge(statusWithClaim(v1.PodRunning, "new"), mine)
		assert.Equal(t, *statusWithClaim(v1.PodFailed, "new"), merged, name)
	}
	merged := Merge(&v1.PodStatus{}, statusWithClaim(v1.PodRunning, "gone"))
	assert.Equal(t, v1.PodStatus{Phase: v1.PodRunning}, merged, "they took it back")
}

// Whatever part of the node hands in a status, the fields of others are those that
// came with the pod.
func TestComplete_FieldsOfOthers(t *testing.T) {
	pod := podWith()
	pod.Status = *statusWithClaim(v1.PodRunning, "a")
	status := &v1.PodStatus{Phase: v1.PodFailed, Reason: "OutOfcpu"} // As the status of a rejected pod.
	Complete(pod, &v1.PodStatus{}, status, now)
	want := statusWithClaim(v1.PodFailed, "a")
	assert.Equal(t, want.ResourceClaimStatuses, status.ResourceClaimStatuses)
	assert.Equal(t, want.ExtendedResourceClaimStatus, status.ExtendedResourceClaimStatus)
	assert.Equal(t, want.NodeAllocatableResourceClaimStatuses, status.NodeAllocatableResourceClaimStatuses)
	assert.Equal(t, want.NominatedNodeName, status.NominatedNodeName)
	*status.ResourceClaimStatuses[0].ResourceClaimName = "changed"
	assert.Equal(t, *statusWithClaim(v1.PodRunning, "a"), pod.Status, "a copy")
}

// PH-9: the first reason of an end stays, whatever end is handed in later; none is
// none. The API's fills in where none was said (PH-10).
func TestComplete_PH9_FirstReasonStays(t *testing.T) {
	for _, tc := range []struct{ name, api, old, given, want string }{
		{"another reason", "", "Evicted", "SandboxLost", "Evicted"},
		{"none", "", "Evicted", "", "Evicted"},
		{"it has failed by itself", "", "", "Evicted", ""},
		{"the API knows", "Judged", "", "Evicted", "Judged"},
		{"what was said first", "Judged", "Evicted", "", "Evicted"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := podWith()
			if tc.api != "" {
				pod.Status = v1.PodStatus{Phase: v1.PodFailed, Reason: tc.api}
			}
			status := &v1.PodStatus{Phase: v1.PodFailed, Reason: tc.given, Message: tc.given}
			Complete(pod, &v1.PodStatus{Phase: v1.PodFailed, Reason: tc.old}, status, now)
			assert.Equal(t, tc.want, status.Reason)
			assert.Empty(t, status.Message, "it goes with the reason")
		})
	}
}
