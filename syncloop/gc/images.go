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
	// DefaultImagePeriod is how often images are checked without a change, while that may have a
	// result.
	DefaultImagePeriod = 5 * time.Minute
)

// ErrDiskFull is returned if too little disk space could be freed, because the remaining images are
// in use or too young.
var ErrDiskFull = errors.New("gc: too few images could be removed")

// ImagesConfig configures Images. Runtime, Images and Seen are required.
type ImagesConfig struct {
	// Runtime has the images. ListImages is called once or twice in each Step, with a timeout of
	// CallTimeout, and ListPods and PodStatus right before a removal. After an error of any of them
	// no image is removed. If its Features have an ImageFilesystem with a known capacity, images
	// are removed when the disk is full, and otherwise by age only. If they have a UsedImageLister,
	// the images of other owners' containers are kept as well.
	Runtime runtime.Runtime
	// Images has the leases of images, and removes images.
	Images *images.Manager
	// Seen is the newest snapshot of the runtime: a pleg.PLEG. It shows when images are used.
	// Before a removal the runtime itself is called.
	Seen pleg.Generator
	// Policy defines when unused images are removed. The zero value has the kubelet's defaults.
	Policy policy.Images
	// Delay is how long after Changed images are checked; zero is DefaultImageDelay.
	Delay time.Duration
	// Period is how often images are checked without a change, while a maximum age is set or the
	// disk usage is above the low threshold; zero is DefaultImagePeriod.
	Period time.Duration
	// CallTimeout limits each call; zero is DefaultCallTimeout.
	CallTimeout time.Duration
	// Recorder records an event about Node if too little can be freed; nil discards it.
	Recorder runtime.EventRecorder
	// Node is the object of that event.
	Node k8sruntime.Object
	// Clock is the clock; nil is the real one.
	Clock clock.Clock
	// Log receives log messages; nil discards them.
	Log *slog.Logger
	// Panicked is called after each recovered panic, with the name of the call that panicked. Nil
	// ignores it.
	Panicked func(call string, err error)
}

// Images removes unused images. All methods may be called concurrently, also before Run.
type Images struct {
	config       ImagesConfig
	guard        *contain.Guard
	executor     executor.Executor
	once         runOnce
	changedEvent executor.Event
	mu           struct {
		sync.Mutex
		changed bool
		full    bool                    // too little could be freed the last time
		begun   time.Time               // time of the first list; zero: there was none
		known   map[string]imageHistory // history by image ID
	}
}

// imageHistory is when an image was first listed and last seen in use.
type imageHistory struct{ firstSeen, lastUsed time.Time }

// NewImages creates a collector. It starts nothing before Run.
func NewImages(config ImagesConfig) (*Images, error) {
	if err := config.setDefaultsAndCheck(); err != nil {
		return nil, err
	}
	g := newGuard(config.Clock, &config.Log, config.Panicked)
	i := &Images{guard: g, executor: executor.Over(config.Clock)}
	config.Runtime = contain.NewRuntime(g, config.Runtime)
	i.config = config
	i.changedEvent = i.executor.NewEvent()
	i.mu.known = make(map[string]imageHistory)
	return i, nil
}

// Changed requests a check. It is called after a pull, and after records of containers were
// removed. It never blocks.
func (i *Images) Changed() {
	i.mu.Lock()
	i.mu.changed = true
	i.mu.Unlock()
	i.changedEvent.Signal()
}

// Run removes images until ctx ends, and then returns nil. It checks once at its start, after each
// change, and every Period while that may have a result. The end of ctx does not cancel a removal
// that was sent. A second call returns runtime.ErrSecondRun.
func (i *Images) Run(ctx context.Context) error {
	if err := i.once.markRunOrRefuseSecond(); err != nil {
		return err
	}
	i.Changed() // A former agent may have left unused images.
	retry, failed := backoff.Exponential{Initial: DefaultRetry, Max: DefaultMaxRetry, Reset: retryResetAfter}, backoff.State{}
	why := ""          // the last error
	var next time.Time // the next check without a change; zero: none
	for i.waitForTimeOrDelayAfterChange(ctx, next) == nil {
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
			i.config.Log.Log(ctx, level, "unused images could not be removed; retrying", "after", failed.Delay, "err", err)
		default:
			failed, why = backoff.State{}, ""
			if again {
				next = now.Add(i.config.Period)
			}
		}
	}
	return nil
}

// waitForTimeOrDelayAfterChange waits until the time next, or until Changed is called and then for Delay, which
// combines several changes. A zero next means that only Changed ends the wait. It returns an error if ctx ends.
func (i *Images) waitForTimeOrDelayAfterChange(ctx context.Context, next time.Time) error {
	for !i.consumeChangedFlag() {
		if next.IsZero() {
			if err := i.changedEvent.Wait(ctx); err != nil {
				return err
			}
			continue
		}
		signalled, err := i.changedEvent.WaitUntil(ctx, next)
		if err != nil || !signalled {
			return err
		}
	}
	return i.executor.Sleep(ctx, i.config.Delay)
}

// consumeChangedFlag reports whether Changed was called since the last call of consumeChangedFlag, and clears
// the flag.
func (i *Images) consumeChangedFlag() (wasSet bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	changed := i.mu.changed
	i.mu.changed = false
	return changed
}

// Step checks once and removes images by the policy. It returns true if another check may have a
// result although nothing changes.
func (i *Images) Step(ctx context.Context) (again bool, err error) {
	disk, err := i.diskUsage(ctx)
	if err != nil {
		return false, err
	}
	p := i.config.Policy
	if disk.CapacityBytes == 0 && p.MaxAge <= 0 {
		return false, nil // Neither a capacity nor an age requires a removal.
	}
	tooMuch := p.BytesToFree(disk)
	again = p.MaxAge > 0 || disk.CapacityBytes > 0 && disk.Percent() >= p.LowThresholdPercent
	now := i.executor.Now()
	list, err := i.listImagesAndUpdateHistory(ctx, now, i.imagesUsedInSnapshot())
	if err != nil {
		return again, err
	}
	if tooMuch == 0 && len(p.Expired(list.candidates, list.firstListed, now)) == 0 {
		i.recordDiskFullEventOnce(0, 0)
		return again, nil
	}
	freed, err := i.removePickedUnlessUsed(ctx, func(list imageSurvey) []policy.Image {
		return p.ToRemove(list.candidates, list.firstListed, now, tooMuch > 0)
	}, tooMuch)
	if err == nil && freed < tooMuch && ctx.Err() == nil {
		err = ErrDiskFull
	}
	if ctx.Err() == nil {
		i.recordDiskFullEventOnce(tooMuch, freed)
	}
	return again, err
}

// recordDiskFullEventOnce records a warning event for the node if fewer bytes than required were freed. It
// records another one only after enough bytes were freed in between (IG-4).
func (i *Images) recordDiskFullEventOnce(required, freed uint64) {
	i.mu.Lock()
	news := freed < required && !i.mu.full
	i.mu.full = freed < required
	i.mu.Unlock()
	if news && i.config.Recorder != nil {
		message := fmt.Sprintf("Too few images can be removed: %d bytes should be freed, %d were.", required, freed)
		_ = i.guard.Call("Recorder.Event", func() {
			i.config.Recorder.Event(i.config.Node, v1.EventTypeWarning, "FreeDiskSpaceFailed", message)
		})
	}
}

// DeleteUnusedImages removes all unused images, however much room the disk has, and returns how many bytes it has
// freed. It keeps the images that are younger than Policy.MinAge, as the kubelet does: a pod may be about to use them.
func (i *Images) DeleteUnusedImages(ctx context.Context) (freed uint64, err error) {
	return i.removePickedUnlessUsed(ctx, func(list imageSurvey) []policy.Image {
		return i.config.Policy.ToRemove(list.candidates, list.firstListed, i.executor.Now(), true)
	}, 0)
}

// removePickedUnlessUsed removes the images that pick chooses from the present ones, and returns how many bytes
// that freed. It stops when enough bytes are freed, but removes expired images also then; zero means no limit.
// It skips an image that a container in creation uses, and continues after an image that cannot be removed.
func (i *Images) removePickedUnlessUsed(ctx context.Context, pick func(imageSurvey) []policy.Image, enough uint64) (freed uint64, err error) {
	sweep := i.config.Images.Sweep() // Before the survey, so that a container created meanwhile has a lease.
	defer sweep.End()
	used, err := i.imagesUsedInRuntime(ctx)
	if err != nil {
		return 0, err
	}
	list, err := i.listImagesAndUpdateHistory(ctx, i.executor.Now(), used)
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

// imageSurvey is the result of listing the images.
type imageSurvey struct {
	candidates  []policy.Image
	images      map[string]runtime.Image // by ID
	firstListed time.Time                // time of the first list of this agent
}

// listImagesAndUpdateHistory lists the images of the runtime and returns them as candidates for removal. It
// also stores when each image was first listed and last used, and deletes that history for absent images.
func (i *Images) listImagesAndUpdateHistory(ctx context.Context, now time.Time, usedNames map[string]bool) (imageSurvey, error) {
	ctx, cancel := i.executor.WithDeadline(ctx, now.Add(i.config.CallTimeout))
	defer cancel()
	list, err := i.config.Runtime.ListImages(ctx)
	if err != nil {
		return imageSurvey{}, fmt.Errorf("gc: list images: %w", err)
	}
	l := imageSurvey{images: make(map[string]runtime.Image, len(list))}
	i.mu.Lock()
	defer i.mu.Unlock()
	first := i.mu.begun.IsZero()
	if first {
		i.mu.begun = now
	}
	l.firstListed = i.mu.begun
	known := make(map[string]imageHistory, len(list))
	for _, image := range list {
		if _, twice := l.images[image.ID]; twice || image.ID == "" {
			continue
		}
		r, ok := i.mu.known[image.ID]
		if !ok && !first {
			r.firstSeen = now
		}
		inUse := isNameUsed(usedNames, image)
		if inUse {
			r.lastUsed = now
		}
		known[image.ID], l.images[image.ID] = r, image
		l.candidates = append(l.candidates, policy.Image{
			ID: image.ID, SizeBytes: image.SizeBytes, FirstSeen: r.firstSeen, LastUsed: r.lastUsed,
			Used: inUse || image.Pinned || i.config.Images.InUse(image),
		})
	}
	i.mu.known = known
	return l, nil
}

// isNameUsed reports whether one of the image's names is in usedNames.
func isNameUsed(usedNames map[string]bool, image runtime.Image) bool {
	return slices.ContainsFunc(images.Names(image), func(name string) bool { return usedNames[name] })
}

// imagesUsedInSnapshot returns the names of the images that containers in the PLEG's cached statuses use. Pods
// without a cached status are left out.
func (i *Images) imagesUsedInSnapshot() map[string]bool {
	used := make(map[string]bool)
	for _, pod := range i.config.Seen.Pods() {
		if status, err := i.config.Seen.Get(pod.UID); err == nil {
			addUsedImages(used, status)
		}
	}
	return used
}

// imagesUsedInRuntime asks the runtime for the images that containers use, and returns their names. If the
// runtime has a UsedImageLister, containers of other owners are included. If it has none, or that is
// unsupported, it reads the status of every listed pod.
func (i *Images) imagesUsedInRuntime(ctx context.Context) (map[string]bool, error) {
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
	return i.imagesUsedByListedPods(ctx)
}

// imagesUsedByListedPods returns the names of the images that the containers of all pods in ListPods use. It
// returns an error if the status of one pod cannot be read.
func (i *Images) imagesUsedByListedPods(ctx context.Context) (map[string]bool, error) {
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
			return nil, fmt.Errorf("gc: status of pod %s: %w", pods[n].UID, errs[n])
		}
		addUsedImages(used, statuses[n])
	}
	return used, nil
}

// addUsedImages adds to usedNames the names of every image that a container of the pod runs or mounts (IG-1).
func addUsedImages(usedNames map[string]bool, status *runtime.PodStatus) {
	if status == nil {
		return
	}
	for n := range status.Containers {
		c := &status.Containers[n]
		for _, ref := range [...]string{c.Image, c.ImageRef} {
			addAliases(usedNames, ref)
		}
		for _, ref := range c.MountedImages {
			addAliases(usedNames, ref)
		}
	}
}

// addAliases adds all forms of an image name to usedNames, for example with and without the default registry.
// It ignores an empty name.
func addAliases(usedNames map[string]bool, ref string) {
	if ref == "" {
		return
	}
	for _, name := range images.Aliases(ref) {
		usedNames[name] = true
	}
}

// diskUsage returns the usage of the disk that stores the images. It returns a zero Disk if the runtime has no
// ImageFilesystem, and an error if the call fails.
func (i *Images) diskUsage(ctx context.Context) (policy.Disk, error) {
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
	return policy.Disk{CapacityBytes: usage.CapacityBytes, UsedBytes: usage.UsedBytes}, nil
}

// setDefaultsAndCheck sets the defaults of unset fields, and returns one error that names all invalid fields,
// or nil.
func (c *ImagesConfig) setDefaultsAndCheck() error {
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
