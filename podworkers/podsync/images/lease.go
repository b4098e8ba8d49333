package images

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
)

// Lease protects an image from removal until Release is called.
type Lease struct {
	manager      *Manager
	names        map[string]struct{} // guarded by Manager.mu: the aliases of the image
	removedNames map[string]struct{} // guarded by Manager.mu: the names of images that were removed since the lease began
}

// Lease leases an image, even if the runtime does not have it. It waits while the image is being
// removed, and fails only if ctx ends. Inspect the image after the call, because it may have been
// removed before.
func (m *Manager) Lease(ctx context.Context, image string) (*Lease, error) {
	l := &Lease{manager: m, names: make(map[string]struct{}, 4), removedNames: make(map[string]struct{})}
	if _, err := l.AddName(ctx, image); err != nil {
		l.Release()
		return nil, err
	}
	return l, nil
}

// AddName adds another name of the same image, such as the reference of the runtime. It waits while an
// image of that name is being removed. removedMeanwhile is true if such an image was removed since the
// lease began. Then the caller must inspect the image again. It fails only if ctx ends.
func (l *Lease) AddName(ctx context.Context, name string) (removedMeanwhile bool, err error) {
	names := Aliases(name)
	for {
		removal, removedMeanwhile := l.manager.addNamesUnlessRemoving(l, names)
		if removal == nil {
			return removedMeanwhile, nil
		}
		if err := removal.Wait(ctx); err != nil {
			return true, err
		}
	}
}

// addNamesUnlessRemoving protects image names from garbage collection until the lease (the protection for one
// image pull or container start) is released. If an image with one of the names is being removed, it adds no
// name and returns the latch that opens when the removal ends. removedMeanwhile is true in this case. It is
// also true if such an image was removed since the lease began.
func (m *Manager) addNamesUnlessRemoving(lease *Lease, names []string) (removal executor.Latch, removedMeanwhile bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.mu.removals {
		if containsAny(r.names, names) {
			m.mu.leases[lease] = struct{}{} // endRemovalAndRecordInLeases must record the removal in this lease.
			return r.done, true
		}
	}
	removedMeanwhile = containsAny(lease.removedNames, names)
	for _, name := range names {
		delete(lease.removedNames, name)
	}
	m.mu.leases[lease] = struct{}{}
	for _, name := range names {
		lease.names[name] = struct{}{}
	}
	for s := range m.mu.sweeps {
		s.addLeasedNamesLocked(lease)
	}
	return nil, removedMeanwhile
}

// Release ends the lease. It may be called more than once.
func (l *Lease) Release() {
	l.manager.mu.Lock()
	defer l.manager.mu.Unlock()
	delete(l.manager.mu.leases, l)
}

// InUse reports whether an image is leased.
func (m *Manager) InUse(image runtime.Image) bool {
	names := Names(image)
	m.mu.Lock()
	defer m.mu.Unlock()
	for l := range m.mu.leases {
		if containsAny(l.names, names) {
			return true
		}
	}
	return false
}

// Names returns the forms of all names and references of an image. Two images are the same if they have
// a form in common. See Aliases for the references of containers.
func Names(image runtime.Image) []string {
	names := Aliases(image.ID)
	for _, name := range slices.Concat(image.Tags, image.Digests) {
		names = append(names, Aliases(name)...)
	}
	return names
}

// containsAny reports whether a set contains at least one of the names.
func containsAny(set map[string]struct{}, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, ok := set[name]
		return ok
	})
}

// ErrLeased means that an image is leased and was not removed.
var ErrLeased = errors.New("images: the image is leased")

// Sweep removes images. Begin it before you list the images in use. An image that was leased after that
// may be in use by a container that is not in the list, and is not removed.
type Sweep struct {
	manager     *Manager
	leasedNames map[string]struct{} // guarded by Manager.mu: the names leased at the beginning or since
}

// removal is the removal of an image that is in progress.
type removal struct {
	names map[string]struct{}
	done  executor.Latch
}

// Sweep begins a Sweep. The caller must call End. Several sweeps may run at the same time.
func (m *Manager) Sweep() *Sweep {
	s := &Sweep{manager: m, leasedNames: make(map[string]struct{})}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.sweeps[s] = struct{}{}
	for l := range m.mu.leases {
		s.addLeasedNamesLocked(l)
	}
	return s
}

// addLeasedNamesLocked adds the image names of a lease to the names that this garbage collection run must not
// remove. They stay after the lease is released. The caller holds the lock of the Manager.
func (s *Sweep) addLeasedNamesLocked(lease *Lease) { maps.Copy(s.leasedNames, lease.names) }

// End ends the sweep.
func (s *Sweep) End() {
	s.manager.mu.Lock()
	defer s.manager.mu.Unlock()
	delete(s.manager.mu.sweeps, s)
}

// Remove removes an image. It returns ErrLeased and does nothing if the image was leased at some time
// since the sweep began. The call of the runtime runs until Config.CallTimeout even if ctx ends. A
// removal that is given up may still happen, and then a Lease would not wait for it.
func (s *Sweep) Remove(ctx context.Context, image runtime.Image) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m := s.manager
	r := &removal{names: make(map[string]struct{}), done: m.executor.NewLatch()}
	for _, name := range Names(image) {
		r.names[name] = struct{}{}
	}
	if !s.startRemovalUnlessLeased(r) {
		return fmt.Errorf("images: image %s: %w", image.ID, ErrLeased)
	}
	defer m.endRemovalAndRecordInLeases(r)
	ctx, cancel := m.executor.WithDeadline(executor.Detach(ctx), m.executor.Now().Add(m.config.CallTimeout))
	defer cancel()
	err := m.config.Images.RemoveImage(ctx, runtime.RemoveImageRequest{Image: image.ID})
	if err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return fmt.Errorf("images: remove image %s: %w", image.ID, err)
	}
	return nil
}

// startRemovalUnlessLeased adds the removal of an image to the removals in progress, so that later leases of
// the image wait for its end, and returns true. It returns false and adds nothing if a lease protects one of
// the image's names, or has protected it since this garbage collection run began. It does not remove the image
// itself.
func (s *Sweep) startRemovalUnlessLeased(r *removal) (started bool) {
	s.manager.mu.Lock()
	defer s.manager.mu.Unlock()
	for name := range r.names {
		if _, ok := s.leasedNames[name]; ok {
			return false
		}
	}
	s.manager.mu.removals = append(s.manager.mu.removals, r)
	return true
}

// endRemovalAndRecordInLeases ends the removal of an image, whether it succeeded or failed. It records the
// image's names as removed in each current lease, so that holders inspect the image again, and wakes the
// callers that wait for the end.
func (m *Manager) endRemovalAndRecordInLeases(r *removal) {
	m.mu.Lock()
	m.mu.removals = slices.DeleteFunc(m.mu.removals, func(x *removal) bool { return x == r })
	for l := range m.mu.leases {
		maps.Copy(l.removedNames, r.names) // AddName returns this to a caller that has inspected the image before.
	}
	m.mu.Unlock()
	r.done.Open()
}
