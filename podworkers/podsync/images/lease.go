package images

import (
	"context"
	"slices"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/podworkers/podsync/images/internal/registry"
	"github.com/podkeel/podkeel/runtime"
)

// Normalize is an image's name with the tag that goes without saying, or an
// error if no registry could have it.
func Normalize(image string) (string, error) { return registry.Normalize(image) }

// Lease keeps an image from being removed until Release is called.
type Lease struct {
	m     *Manager
	names map[string]struct{} // guarded by Manager.mu: aliases
	gone  map[string]struct{} // guarded by Manager.mu: of images removed since it began
}

// Lease keeps an image, whether it is there or not. It waits only while the
// image is being removed, and fails only with ctx. What was known of the image
// before the call may not be true any more.
func (m *Manager) Lease(ctx context.Context, image string) (*Lease, error) {
	l := &Lease{m: m, names: make(map[string]struct{}, 4), gone: make(map[string]struct{})}
	if _, err := l.Hold(ctx, image); err != nil {
		l.Release()
		return nil, err
	}
	return l, nil
}

// Hold adds another name of the same image, as the reference by which the
// runtime knows it. It waits while that is being removed, and says whether it
// was, since the lease began: then it must be looked for again. It fails only
// with ctx.
func (l *Lease) Hold(ctx context.Context, name string) (again bool, err error) {
	names := registry.Aliases(name)
	for {
		removal, again := l.m.hold(l, names)
		if removal == nil {
			return again, nil
		}
		if err := removal.Wait(ctx); err != nil {
			return true, err
		}
	}
}

// hold adds names to a lease, and says whether an image that has one of them was
// removed since it was held last. If one is being removed it adds nothing and
// returns what to wait for.
func (m *Manager) hold(l *Lease, names []string) (removal executor.Latch, again bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.mu.removals {
		if meet(r.names, names) {
			m.mu.leases[l] = struct{}{} // It wants to hear of the end of it.
			return r.done, true
		}
	}
	again = meet(l.gone, names)
	for _, name := range names {
		delete(l.gone, name)
	}
	m.mu.leases[l] = struct{}{}
	for _, name := range names {
		l.names[name] = struct{}{}
	}
	for s := range m.mu.sweeps {
		s.noteLocked(l)
	}
	return nil, again
}

// Release ends the lease, which is not used any more then. It may be called
// again, to no effect.
func (l *Lease) Release() {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	delete(l.m.mu.leases, l)
}

// InUse reports whether a lease on an image is held.
func (m *Manager) InUse(image runtime.Image) bool {
	names := Names(image)
	m.mu.Lock()
	defer m.mu.Unlock()
	for l := range m.mu.leases {
		if meet(l.names, names) {
			return true
		}
	}
	return false
}

// Names are the forms of all the names and references of an image: those of
// two that are the same meet. See Aliases for what containers refer to.
func Names(image runtime.Image) []string {
	names := registry.Aliases(image.ID)
	for _, name := range slices.Concat(image.Tags, image.Digests) {
		names = append(names, registry.Aliases(name)...)
	}
	return names
}

// Aliases are the forms of one name or reference of an image. One of them is
// among the Names of the image.
func Aliases(name string) []string { return registry.Aliases(name) }

func meet(set map[string]struct{}, names []string) bool {
	for _, name := range names {
		if _, ok := set[name]; ok {
			return true
		}
	}
	return false
}
