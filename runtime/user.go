package runtime

import "slices"

// LinuxContainerUser is the user and the groups of the first process of a container.
type LinuxContainerUser struct {
	UID, GID int64
	// SupplementalGroups are the groups beside GID, and may contain GID too. Their order has no meaning.
	SupplementalGroups []int64
}

// Equal reports whether two users are equal: the same user, group and supplemental groups, in any order of the
// supplemental groups. Nil is equal to nil only.
func (u *LinuxContainerUser) Equal(other *LinuxContainerUser) bool {
	if u == nil || other == nil {
		return u == other
	}
	if u.UID != other.UID || u.GID != other.GID || len(u.SupplementalGroups) != len(other.SupplementalGroups) {
		return false
	}
	return slices.Equal(u.SupplementalGroups, other.SupplementalGroups) ||
		slices.Equal(slices.Sorted(slices.Values(u.SupplementalGroups)), slices.Sorted(slices.Values(other.SupplementalGroups)))
}
