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
	if _, err := l.AddName(ctx, image); err != nil {
		l.Release()
		return nil, err
	}
	return l, nil
}

// AddName adds another name of the same image, as the reference by which the
// runtime knows it. It waits while that is being removed, and says whether it
// was, since the lease began: then it must be looked for again. It fails only
// with ctx.
func (l *Lease) AddName(ctx context.Context, name string) (again bool, err error) {
	names := Aliases(name)
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
	names := Aliases(image.ID)
	for _, name := range slices.Concat(image.Tags, image.Digests) {
		names = append(names, Aliases(name)...)
	}
	return names
}

func meet(set map[string]struct{}, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, ok := set[name]
		return ok
	})
}

// ErrLeased says that an image is leased and was not removed.
var ErrLeased = errors.New("images: the image is leased")

// Sweep removes images. It is begun before the images in use are listed: an
// image that was leased since then may be in use by a container that this look
// has not seen, and is not removed.
type Sweep struct {
	m     *Manager
	names map[string]struct{} // guarded by Manager.mu: leased when it began, or since
}

// removal is an image that is being removed.
type removal struct {
	names map[string]struct{}
	done  executor.Latch
}

// Sweep begins one. End must be called; there may be several at once.
func (m *Manager) Sweep() *Sweep {
	s := &Sweep{m: m, names: make(map[string]struct{})}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.sweeps[s] = struct{}{}
	for l := range m.mu.leases {
		s.noteLocked(l)
	}
	return s
}

func (s *Sweep) noteLocked(l *Lease) { maps.Copy(s.names, l.names) }

// End ends the sweep.
func (s *Sweep) End() {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	delete(s.m.mu.sweeps, s)
}

// Remove removes an image. ErrLeased: it was leased at some time since the
// sweep began, and nothing was done. Once sent, the call runs to
// Config.CallTimeout: a removal that is given up may still happen, and those
// who want the image would not wait for it.
func (s *Sweep) Remove(ctx context.Context, image runtime.Image) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m := s.m
	r := &removal{names: make(map[string]struct{}), done: m.executor.NewLatch()}
	for _, name := range Names(image) {
		r.names[name] = struct{}{}
	}
	if !s.claim(r) {
		return fmt.Errorf("images: image %s: %w", image.ID, ErrLeased)
	}
	defer m.removed(r)
	ctx, cancel := m.executor.WithDeadline(executor.Detach(ctx), m.executor.Now().Add(m.config.CallTimeout))
	defer cancel()
	err := m.config.Images.RemoveImage(ctx, runtime.RemoveImageRequest{Image: image.ID})
	if err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return fmt.Errorf("images: remove image %s: %w", image.ID, err)
	}
	return nil
}

// claim makes those wait who want an image, unless somebody has it.
func (s *Sweep) claim(r *removal) bool {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	for name := range r.names {
		if _, ok := s.names[name]; ok {
			return false
		}
	}
	s.m.mu.removals = append(s.m.mu.removals, r)
	return true
}

func (m *Manager) removed(r *removal) {
	m.mu.Lock()
	m.mu.removals = slices.DeleteFunc(m.mu.removals, func(x *removal) bool { return x == r })
	for l := range m.mu.leases {
		maps.Copy(l.gone, r.names) // Who has seen it and does not hold it yet must look again.
	}
	m.mu.Unlock()
	r.done.Open()
}
