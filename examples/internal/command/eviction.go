package command

import (
	"cmp"
	"context"
	"errors"
	goruntime "runtime"
	"slices"
	"strconv"
	"time"

	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/eviction"
	"github.com/podkeel/podkeel/syncloop/eviction/observe"
	"github.com/podkeel/podkeel/syncloop/node"
)

// Eviction holds the flags for evictions, which are the kubelet's. Without --eviction-hard the hard thresholds are the
// kubelet's defaults.
type Eviction struct {
	settings eviction.Settings
	policy   eviction.Policy
	// notifies: the kernel notifies the node when memory becomes scarce.
	notifies bool
}

// SetKernelNotification sets the flag --kernel-memcg-notification.
func (e *Eviction) SetKernelNotification(text string) (err error) {
	if e.notifies, err = strconv.ParseBool(text); err != nil {
		return errors.New("expected true or false")
	}
	return nil
}

// defaultThresholds is the value of --eviction-hard for the kubelet's default thresholds.
const defaultThresholds = "default"

// SetHard sets the flag --eviction-hard. With an empty text there are no hard thresholds; limits of local storage are
// enforced all the same, as in the kubelet.
func (e *Eviction) SetHard(text string) (err error) {
	if text == defaultThresholds {
		e.settings.Hard = eviction.DefaultHard()
		return nil
	}
	e.settings.Hard, err = eviction.ParseSettings(text, "<")
	return errors.Join(err, e.checkHardAlone())
}

// checkHardAlone returns an error if the hard thresholds are invalid. Faults of the other flags may depend on flags
// that are not set yet.
func (e *Eviction) checkHardAlone() error {
	_, err := eviction.Settings{Hard: e.settings.Hard}.Thresholds()
	return err
}

// SetSoft sets the flag --eviction-soft.
func (e *Eviction) SetSoft(text string) (err error) {
	e.settings.Soft, err = eviction.ParseSettings(text, "<")
	return err
}

// SetSoftGracePeriod sets the flag --eviction-soft-grace-period.
func (e *Eviction) SetSoftGracePeriod(text string) (err error) {
	e.settings.SoftGracePeriod, err = eviction.ParseSettings(text, "=")
	return err
}

// SetMinimumReclaim sets the flag --eviction-minimum-reclaim.
func (e *Eviction) SetMinimumReclaim(text string) (err error) {
	e.settings.MinimumReclaim, err = eviction.ParseSettings(text, "=")
	return err
}

// SetTransitionPeriod sets the flag --eviction-pressure-transition-period. 0 is the default.
func (e *Eviction) SetTransitionPeriod(text string) (err error) {
	if e.policy.TransitionPeriod, err = time.ParseDuration(text); err != nil || e.policy.TransitionPeriod < 0 {
		return errors.New("expected a duration, such as 5m")
	}
	return nil
}

// SetMaxPodGrace sets the flag --eviction-max-pod-grace-period.
func (e *Eviction) SetMaxPodGrace(text string) (err error) {
	if e.policy.MaxPodGraceSeconds, err = strconv.ParseInt(text, 10, 32); err != nil {
		return errors.New("expected a number of seconds")
	}
	return nil
}

// HasThresholds reports whether a flag sets thresholds, also if it sets none with an empty text. Simulated containers
// are evicted only then, because they use nothing of this host.
func (e *Eviction) HasThresholds() bool { return e.settings.Hard != nil || e.settings.Soft != nil }

// settingsOrDefault returns the settings of the flags. Without --eviction-hard it adds the kubelet's defaults, as the
// kubelet does also with --eviction-soft.
func (e *Eviction) settingsOrDefault() eviction.Settings {
	settings := e.settings
	if settings.Hard == nil {
		settings.Hard = eviction.DefaultHard()
	}
	return settings
}

// ConfigFields returns the settings in use as fields of a KubeletConfiguration, without the empty ones.
func (e *Eviction) ConfigFields() map[string]any {
	settings := e.settingsOrDefault()
	fields := map[string]any{
		"evictionHard": settings.Hard, "evictionMaxPodGracePeriod": e.policy.MaxPodGraceSeconds,
		"evictionPressureTransitionPeriod": cmp.Or(e.policy.TransitionPeriod, eviction.DefaultTransitionPeriod).String(),
	}
	for name, values := range map[string]map[string]string{
		"evictionSoft": settings.Soft, "evictionSoftGracePeriod": settings.SoftGracePeriod, "evictionMinimumReclaim": settings.MinimumReclaim,
	} {
		if len(values) > 0 {
			fields[name] = values
		}
	}
	return fields
}

// Configure lets a node evict pods. root is its directory with volumes, and c.Logs.Root the one with logs. images
// returns the directory of the images; nil: they share the file system of root. On other systems than Linux, where no
// signal can be measured, Configure does nothing unless HasThresholds. The error names every fault of the flags.
func (e *Eviction) Configure(c *node.Config, root string, images runtime.ImageFilesystem) error {
	if goruntime.GOOS != "linux" && !e.HasThresholds() {
		return nil
	}
	thresholds, err := e.settingsOrDefault().Thresholds()
	if err != nil {
		return err
	}
	policy := e.policy
	policy.Thresholds = thresholds
	measure := observe.HostConfig{NodeDirectory: root}
	if images != nil {
		measure.ImageDirectory = func(ctx context.Context) (string, error) {
			usage, err := images.ImageFilesystem(ctx)
			return usage.Directory, err
		}
	}
	host := observe.NewHost(measure)
	files := observe.FilesConfig{VolumeDirectory: observe.VolumeDirectory(root)}
	if c.Logs.Root != "" {
		files.LogDirectory = observe.LogDirectory(c.Logs.Root)
	}
	c.Eviction = node.EvictionConfig{Signals: host, Policy: policy, Storage: observe.NewFiles(files)}
	if i := slices.IndexFunc(thresholds, func(t eviction.Threshold) bool { return t.Signal == eviction.MemoryAvailable && !t.IsSoft() }); i >= 0 && e.notifies {
		c.Eviction.MemoryNotifier = observe.NewMemoryNotifier(observe.MemoryNotifierConfig{Threshold: thresholds[i].Value, Log: c.Log})
	}
	return nil
}
