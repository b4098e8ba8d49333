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
