package plan

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// userForStatus returns the user of a record for a status. It returns nil for a user with an ID that is negative or above
// the largest int32: an API server before 1.37 would refuse the whole status for the ID of a user, and each API server
// for the ID of a group.
func userForStatus(user *runtime.LinuxContainerUser) *runtime.LinuxContainerUser {
	if user == nil || !isValidID(user.UID) || !isValidID(user.GID) {
		return nil
	}
	for _, group := range user.SupplementalGroups {
		if !isValidID(group) {
			return nil
		}
	}
	return user
}

// isValidID reports whether each API server accepts the ID of a user or a group in a status.
func isValidID(id int64) bool { return id >= 0 && id <= math.MaxInt32 }

// containerUser returns the user of the container for its status (CS-16). It is the published one if that is equal, so
// that another order of the groups does not change the status. It returns nil if the record has no user, or if the status
// shows no record.
func (s *statusBuilder) containerUser() *v1.ContainerUser {
	switch {
	case s.user == nil:
		return nil
	case s.old != nil && s.user.Equal(publishedUser(s.old)):
		return s.old.User
	}
	return &v1.ContainerUser{Linux: &v1.LinuxContainerUser{
		UID: s.user.UID, GID: s.user.GID, SupplementalGroups: slices.Clone(s.user.SupplementalGroups),
	}}
}

// hasSameUser reports whether containerUser would return a user equal to the published one.
func (s *statusBuilder) hasSameUser() bool {
	return (s.old.User == nil) == (s.user == nil) && s.user.Equal(publishedUser(s.old))
}

// publishedUser returns the user in a container status, or nil if the status has none.
func publishedUser(status *v1.ContainerStatus) *runtime.LinuxContainerUser {
	if status.User == nil || status.User.Linux == nil {
		return nil
	}
	linux := status.User.Linux
	return &runtime.LinuxContainerUser{UID: linux.UID, GID: linux.GID, SupplementalGroups: linux.SupplementalGroups}
}
