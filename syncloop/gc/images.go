package gc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/pleg"
	"github.com/podkeel/podkeel/podworkers/backoff"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/gc/policy"
)

// Defaults of ImagesConfig.
const (
	// DefaultImageDelay is how long after a change images are checked.
	DefaultImageDelay = 10 * time.Second
	// DefaultImagePeriod is how often they are checked while that may have a
	// result without any change.
	DefaultImagePeriod = 5 * time.Minute
)

// ErrDiskFull says that not enough could be freed: what is left is in use, or
// young.
var ErrDiskFull = errors.New("gc: too few images could be removed")

// ImagesConfig is what Images need. Runtime, Images and Seen are required.
type ImagesConfig struct {
	// Runtime has the images. ListImages is called once or twice in each Step, with a deadline
	// of CallTimeout, and ListPods and PodStatus right before a removal. After an error of any
	// of them nothing is removed. If its Features have an ImageFilesystem that
	// knows its disk they are removed when that is full, otherwise by age only. If they have
	// a UsedImageLister, the images of others' containers stay as well.
	Runtime runtime.Runtime
	// Images has the leases, and removes.
	Images *images.Manager
	// Seen is the newest snapshot of the runtime: a pleg.PLEG. It says when
	// images were used; before a removal the runtime itself is asked.
	Seen pleg.Generator
	// Policy says when unused images are removed. The zero value has the
	// kubelet's numbers.
	Policy policy.Images
	// Delay is how long after Changed images are checked; zero is
	// DefaultImageDelay.
	Delay time.Duration
	// Period is how often they are checked without a change, as long as an age
	// is set or the disk is above the low threshold; zero is
	// DefaultImagePeriod.
	Period time.Duration
	// CallTimeout bounds each call; zero is DefaultCallTimeout.
	CallTimeout time.Duration
	// Recorder receives an event about Node if too little can be freed; nil
	// drops it.
	Recorder runtime.EventRecorder
	// Node is what such an event is about.
	Node k8sruntime.Object
	// Clock is the time; nil is the real one.
	Clock clock.Clock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Panicked is called after each contained panic, with the name of the call that
	// panicked; nil discards it.
	Panicked func(call string, err error)
}

// Images removes unused images. All methods may be called
// concurrently, and before Run as well.
type Images struct {
	config   ImagesConfig
	guard    *contain.Guard
	executor executor.Executor
	once     once
	wake     executor.Event
	mu       struct {
		sync.Mutex
		changed bool
		full    bool              // too little could be freed the last time
		begun   time.Time         // the first look; zero: there was none
		known   map[string]record // by ID
	}
}

// record is what is remembered of an image.
type record struct{ firstSeen, lastUsed time.Time }

// NewImages makes a collector. It runs nothing until Run is called.
func NewImages(config ImagesConfig) (*Images, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	g := guard(config.Clock, &config.Log, config.Panicked)
	i := &Images{guard: g, executor: executor.Over(config.Clock)}
	config.Runtime = contain.NewRuntime(g, config.Runtime)
	i.config = config
	i.wake = i.executor.NewEvent()
	i.mu.known = make(map[string]record)
	return i, nil
}

// Changed says that there may be more images, or fewer in use, than before:
// after a pull, or after records of containers were removed. It never blocks.
func (i *Images) Changed() {
	i.mu.Lock()
	i.mu.changed = true
	i.mu.Unlock()
	i.wake.Signal()
}

// Run removes images until ctx ends, and returns nil then. It looks once at its
// beginning, after each change, and every Period only while that may have a result. A removal that
// was sent is not cut short. A second call returns runtime.ErrSecondRun.
func (i *Images) Run(ctx context.Context) error {
	if err := i.once.begin(); err != nil {
		return err
	}
	i.Changed() // What there is may be the rest of a life before ours.
	retry, failed := backoff.Exponential{Initial: DefaultRetry, Max: DefaultMaxRetry, Reset: resetRetry}, backoff.State{}
	why := ""          // it failed last
	var next time.Time // of the look that nobody has asked for; zero: none
	for i.await(ctx, next) == nil {
		again, err := i.Step(ctx)
		next = time.Time{}
		now := i.executor.Now()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			failed = retry.Failed(failed, now)
			next = now.Add(failed.Delay)
			level := slog.LevelDebug
			if news := err.Error(); news != why {
				level, why = slog.LevelWarn, news
			}
			i.config.Log.Log(ctx, level, "images could not be cleaned up; retrying", "after", failed.Delay, "err", err)
		default:
			failed, why = backoff.State{}, ""
			if again {
				next = now.Add(i.config.Period)
			}
		}
	}
	return nil
}

// await waits for a change, and a moment longer, or until next.
func (i *Images) await(ctx context.Context, next time.Time) error {
	for !i.takeChanged() {
		if next.IsZero() {
			if err := i.wake.Wait(ctx); err != nil {
				return err
			}
			continue
		}
		signalled, err := i.wake.WaitUntil(ctx, next)
		if err != nil || !signalled {
			return err
		}
	}
	return i.executor.Sleep(ctx, i.config.Delay)
}

func (i *Images) takeChanged() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	changed := i.mu.changed
	i.mu.changed = false
	return changed
}

// Step looks once and removes what the policy says. It reports whether another
// look may have a result although nothing changes.
func (i *Images) Step(ctx context.Context) (again bool, err error) {
	disk, err := i.usage(ctx)
	if err != nil {
		return false, err
	}
	p := i.config.Policy
	if disk.CapacityBytes == 0 && p.MaxAge <= 0 {
		return false, nil // There is no reason to remove any.
	}
	tooMuch := p.TooMuch(disk)
	again = p.MaxAge > 0 || disk.CapacityBytes > 0 && disk.Percent() >= p.LowThresholdPercent
	now := i.executor.Now()
	list, err := i.look(ctx, now, i.seen())
	if err != nil {
		return again, err
	}
	if tooMuch == 0 && len(p.Expired(list.known, list.begun, now)) == 0 {
		i.tell(0, 0)
		return again, nil
	}
	freed, err := i.sweep(ctx, func(list looked) []policy.Image {
		return p.ToRemove(list.known, list.begun, now, tooMuch > 0)
	}, tooMuch)
	if err == nil && freed < tooMuch && ctx.Err() == nil {
		err = ErrDiskFull
	}
	if ctx.Err() == nil {
		i.tell(tooMuch, freed)
	}
	return again, err
}

// tell says that too little could be freed, once until it can again (IG-4).
func (i *Images) tell(tooMuch, freed uint64) {
	i.mu.Lock()
	news := freed < tooMuch && !i.mu.full
	i.mu.full = freed < tooMuch
	i.mu.Unlock()
	if news && i.config.Recorder != nil {
		message := fmt.Sprintf("Too few images can be removed: %d bytes should be freed, %d were.", tooMuch, freed)
		_ = i.guard.Call("Recorder.Event", func() {
			i.config.Recorder.Event(i.config.Node, v1.EventTypeWarning, "FreeDiskSpaceFailed", message)
		})
	}
}

// DeleteUnusedImages removes all unused images, whatever the policy says, to make room.
// It returns how many bytes that has freed.
func (i *Images) DeleteUnusedImages(ctx context.Context) (freed uint64, err error) {
	return i.sweep(ctx, func(list looked) []policy.Image { return policy.Unused(list.known) }, 0)
}

// sweep removes images that were picked, until enough is freed; zero: all of
// them. Who picks is shown what the runtime says now. An image that cannot be
// removed is no reason not to try the others.
func (i *Images) sweep(ctx context.Context, pick func(looked) []policy.Image, enough uint64) (freed uint64, err error) {
	sweep := i.config.Images.Sweep() // Before the look: see there.
	defer sweep.End()
	used, err := i.inUse(ctx)
	if err != nil {
		return 0, err
	}
	list, err := i.look(ctx, i.executor.Now(), used)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, image := range pick(list) {
		if ctx.Err() != nil || enough > 0 && freed >= enough && !image.Expired {
			break
		}
		err := sweep.Remove(ctx, list.images[image.ID])
		switch {
		case errors.Is(err, images.ErrLeased):
		case err != nil:
			errs = append(errs, err)
		default:
			freed += image.SizeBytes
			i.config.Log.Info("removed an unused image", "image", image.ID, "bytes", image.SizeBytes)
		}
	}
	return freed, errors.Join(errs...)
}

// looked is what a look has shown.
type looked struct {
	known  []policy.Image
	images map[string]runtime.Image // by ID
	begun  time.Time                // of the first look of all
}

// look lists the images and remembers when they were seen, and used.
func (i *Images) look(ctx context.Context, now time.Time, used map[string]bool) (looked, error) {
	ctx, cancel := i.executor.WithDeadline(ctx, now.Add(i.config.CallTimeout))
	defer cancel()
	list, err := i.config.Runtime.ListImages(ctx)
	if err != nil {
		return looked{}, fmt.Errorf("gc: list images: %w", err)
	}
	l := looked{images: make(map[string]runtime.Image, len(list))}
	i.mu.Lock()
	defer i.mu.Unlock()
	first := i.mu.begun.IsZero()
	if first {
		i.mu.begun = now
	}
	l.begun = i.mu.begun
	known := make(map[string]record, len(list))
	for _, image := range list {
		if _, twice := l.images[image.ID]; twice || image.ID == "" {
			continue
		}
		r, ok := i.mu.known[image.ID]
		if !ok && !first {
			r.firstSeen = now
		}
		inUse := uses(used, image)
		if inUse {
			r.lastUsed = now
		}
		known[image.ID], l.images[image.ID] = r, image
		l.known = append(l.known, policy.Image{
			ID: image.ID, SizeBytes: image.SizeBytes, FirstSeen: r.firstSeen, LastUsed: r.lastUsed,
			Used: inUse || image.Pinned || i.config.Images.InUse(image),
		})
	}
	i.mu.known = known
	return l, nil
}

func uses(used map[string]bool, image runtime.Image) bool {
	return slices.ContainsFunc(images.Names(image), func(name string) bool { return used[name] })
}

// seen are the names of the images in use, as others have seen it.
func (i *Images) seen() map[string]bool {
	used := make(map[string]bool)
	for _, pod := range i.config.Seen.Pods() {
		if status, err := i.config.Seen.Get(pod.UID); err == nil {
			note(used, status)
		}
	}
	return used
}

// inUse asks the runtime itself: for the images of all its containers, if it can tell, and
// otherwise of those that it lists. After an error nothing is known.
func (i *Images) inUse(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := i.executor.WithDeadline(ctx, i.executor.Now().Add(i.config.CallTimeout))
	defer cancel()
	if users := runtime.FeaturesOf(i.config.Runtime).UsedImageLister; users != nil {
		refs, err := users.ListUsedImages(ctx)
		if err == nil {
			used := make(map[string]bool)
			for _, ref := range refs {
				addAliases(used, ref)
			}
			return used, nil
		}
		if !errors.Is(err, runtime.ErrUnsupported) {
			return nil, fmt.Errorf("gc: list the images in use: %w", err)
		}
	}
	return i.inUseByPods(ctx)
}

// inUseByPods returns the images of the containers that ListPods shows. If the runtime cannot
// answer for one pod nothing is known.
func (i *Images) inUseByPods(ctx context.Context) (map[string]bool, error) {
	pods, err := i.config.Runtime.ListPods(ctx)
	if err != nil {
		return nil, fmt.Errorf("gc: list pods: %w", err)
	}
	statuses, errs := make([]*runtime.PodStatus, len(pods)), make([]error, len(pods))
	executor.Each(i.executor, DefaultMaxRemovals, len(pods), func(n int) {
		if errs[n] = ctx.Err(); errs[n] == nil {
			statuses[n], errs[n] = i.config.Runtime.PodStatus(ctx, types.UID(pods[n].UID))
		}
	})
	used := make(map[string]bool)
	for n := range pods {
		if errs[n] != nil {
			return nil, fmt.Errorf("gc: look at pod %s: %w", pods[n].UID, errs[n])
		}
		note(used, statuses[n])
	}
	return used, nil
}

// note adds what the containers of a pod refer to (IG-1).
func note(used map[string]bool, status *runtime.PodStatus) {
	if status == nil {
		return
	}
	for n := range status.Containers {
		c := &status.Containers[n]
		for _, ref := range [...]string{c.Image, c.ImageRef} {
			addAliases(used, ref)
		}
		for _, ref := range c.MountedImages {
			addAliases(used, ref)
		}
	}
}

// addAliases adds all forms of a name of an image.
func addAliases(used map[string]bool, ref string) {
	if ref == "" {
		return
	}
	for _, name := range images.Aliases(ref) {
		used[name] = true
	}
}

// usage is how full the disk is; zero if nobody knows.
func (i *Images) usage(ctx context.Context) (policy.Disk, error) {
	disk := runtime.FeaturesOf(i.config.Runtime).ImageFilesystem
	if disk == nil {
		return policy.Disk{}, nil
	}
	ctx, cancel := i.executor.WithDeadline(ctx, i.executor.Now().Add(i.config.CallTimeout))
	defer cancel()
	usage, err := disk.ImageFilesystem(ctx)
	if err != nil {
		return policy.Disk{}, fmt.Errorf("gc: disk of the images: %w", err)
	}
	return policy.Disk(usage), nil
}

func (c *ImagesConfig) complete() error {
	done := contain.CheckConfig("gc: ImagesConfig")
	done.MissingIf(c.Runtime == nil, "Runtime")
	done.MissingIf(c.Images == nil, "Images")
	done.MissingIf(c.Seen == nil, "Seen")
	done.FaultIf(c.Policy.HighThresholdPercent < 0 || c.Policy.HighThresholdPercent > 100, "Policy.HighThresholdPercent is not a percentage")
	done.FaultIf(c.Policy.LowThresholdPercent < 0 || c.Policy.LowThresholdPercent > 100, "Policy.LowThresholdPercent is not a percentage")
	done.FaultIf(c.Policy.MinAge < 0, "Policy.MinAge is negative")
	done.FaultIf(c.Policy.MaxAge < 0, "Policy.MaxAge is negative")
	contain.DefaultNumber(done, "Delay", &c.Delay, DefaultImageDelay)
	contain.DefaultNumber(done, "Period", &c.Period, DefaultImagePeriod)
	contain.DefaultNumber(done, "CallTimeout", &c.CallTimeout, DefaultCallTimeout)
	c.Policy = c.Policy.Complete()
	c.Node = cmp.Or[k8sruntime.Object](c.Node, &v1.ObjectReference{Kind: "Node"})
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.RealClock{})
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return done.Err()
}
