package podsync

import (
	"context"
	"errors"
	"net/http"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/contain"
	"github.com/podkeel/podkeel/podworkers/podsync/images"
	"github.com/podkeel/podkeel/runtime"
)

// newGuard returns the Guard that turns panics of the callbacks and interfaces in the Config into errors.
func (c *Config) newGuard() *contain.Guard {
	return contain.New(contain.Config{Package: "podsync", Clock: c.Clock, Log: c.Log, OnPanic: c.Hooks.Panicked})
}

// wrapForPanics wraps the interfaces and callbacks in the Config, so that a panic in one becomes an error of
// that call and does not end the sync. Status, NodeIPs and RuntimeClass are guarded where they are called; a
// few others are not guarded.
func (c *Config) wrapForPanics(guard *contain.Guard) {
	c.Log = guard.Log()
	c.Runtime = contain.NewRuntime(guard, c.Runtime)
	c.Recorder = contain.NewRecorder(guard, c.Recorder)
	c.Keyring = guardedKeyring{c.Keyring, guard}
	if _, none := c.Probes.(noProbes); !none {
		c.Probes = guardedProbes{c.Probes, guard}
	}
	c.Changed = contain.Hook1(guard, "Changed", c.Changed)
	c.Hooks.ActionDone = contain.Hook1(guard, "Hooks.ActionDone", c.Hooks.ActionDone)
	c.Hooks.ImagePulled = contain.Hook1(guard, "Hooks.ImagePulled", c.Hooks.ImagePulled)
	c.Hooks.OOMKilled = contain.Hook1(guard, "Hooks.OOMKilled", c.Hooks.OOMKilled)
	c.Hooks.RestartDelayed = contain.Hook1(guard, "Hooks.RestartDelayed", c.Hooks.RestartDelayed)
	if read := c.DNS.ReadHost; read != nil {
		c.DNS.ReadHost = func() (runtime.DNS, error) { return contain.CallWithResult(guard, "DNS.ReadHost", read) }
	}
	if r, refreshes := c.Volumes.(VolumeRefresher); refreshes {
		c.Volumes = guardedRefresher{guardedVolumes{c.Volumes, guard}, r}
	} else if c.Volumes != nil {
		c.Volumes = guardedVolumes{c.Volumes, guard}
	}
	if c.Files != nil {
		c.Files = guardedFiles{c.Files, guard}
	}
	if c.Objects != nil {
		c.Objects = guardedObjects{c.Objects, guard}
	}
	if c.Services != nil {
		c.Services = guardedServices{c.Services, guard}
	}
	if c.TerminalStatuses != nil {
		c.TerminalStatuses = guardedStatuses{c.TerminalStatuses, guard}
	}
	if c.ContainerStates != nil {
		c.ContainerStates = guardedStates{c.ContainerStates, guard}
	}
	if c.HTTP != nil {
		c.HTTP = guardedHTTP{c.HTTP, guard}
	}
	if c.Logs != nil {
		c.Logs = guardedLogs{c.Logs, guard}
	}
}

// guardedVolumes calls Volumes and contains their panics. It does not wrap Problems, because the
// admission handler that calls Problems contains the panic itself.
type guardedVolumes struct {
	Volumes
	guard *contain.Guard
}

func (v guardedVolumes) SetUp(ctx context.Context, pod *v1.Pod) (err error) {
	defer v.guard.Recover("Volumes.SetUp", &err)
	return v.Volumes.SetUp(ctx, pod)
}

func (v guardedVolumes) Mounts(ctx context.Context, pod *v1.Pod, c *v1.Container, expand func(string) (string, error)) (mounts []runtime.Mount, err error) {
	defer v.guard.Recover("Volumes.Mounts", &err)
	return v.Volumes.Mounts(ctx, pod, c, expand)
}

func (v guardedVolumes) TearDown(ctx context.Context, uid types.UID) (err error) {
	defer v.guard.Recover("Volumes.TearDown", &err)
	return v.Volumes.TearDown(ctx, uid)
}

// ReadVolumeFile implements VolumeFileReader, if the wrapped Volumes are one.
func (v guardedVolumes) ReadVolumeFile(ctx context.Context, pod *v1.Pod, volume, path string, limit int) (data []byte, more bool, err error) {
	reader, ok := v.Volumes.(VolumeFileReader)
	if !ok {
		return nil, false, errors.ErrUnsupported
	}
	defer v.guard.Recover("Volumes.ReadVolumeFile", &err)
	return reader.ReadVolumeFile(ctx, pod, volume, path, limit)
}

// isVolumeFileReader reports whether the wrapped Volumes implement VolumeFileReader. guardedVolumes itself
// always does.
func (v guardedVolumes) isVolumeFileReader() bool {
	_, ok := v.Volumes.(VolumeFileReader)
	return ok
}

type guardedRefresher struct {
	guardedVolumes
	inner VolumeRefresher
}

func (v guardedRefresher) Refresh(ctx context.Context, pod *v1.Pod) (err error) {
	defer v.guard.Recover("Volumes.Refresh", &err)
	return v.inner.Refresh(ctx, pod)
}

type guardedFiles struct {
	inner Files
	guard *contain.Guard
}

func (f guardedFiles) Hosts(pod *v1.Pod, ips, names []string) (path string, err error) {
	defer f.guard.Recover("Files.Hosts", &err)
	return f.inner.Hosts(pod, ips, names)
}

func (f guardedFiles) TerminationLog(pod *v1.Pod, container string, attempt uint32) (path string, err error) {
	defer f.guard.Recover("Files.TerminationLog", &err)
	return f.inner.TerminationLog(pod, container, attempt)
}

func (f guardedFiles) ReadTerminationLog(uid types.UID, container string, attempt uint32, limit int) (text []byte, err error) {
	defer f.guard.Recover("Files.ReadTerminationLog", &err)
	return f.inner.ReadTerminationLog(uid, container, attempt, limit)
}

type guardedObjects struct {
	inner Objects
	guard *contain.Guard
}

func (o guardedObjects) ConfigMap(ctx context.Context, namespace, name string) (found *v1.ConfigMap, err error) {
	defer o.guard.Recover("Objects.ConfigMap", &err)
	return o.inner.ConfigMap(ctx, namespace, name)
}

func (o guardedObjects) Secret(ctx context.Context, namespace, name string) (found *v1.Secret, err error) {
	defer o.guard.Recover("Objects.Secret", &err)
	return o.inner.Secret(ctx, namespace, name)
}

type guardedServices struct {
	inner Services
	guard *contain.Guard
}

func (s guardedServices) Services(ctx context.Context, pod *v1.Pod) (found []*v1.Service, err error) {
	defer s.guard.Recover("Services.Services", &err)
	return s.inner.Services(ctx, pod)
}

type guardedStatuses struct {
	inner TerminalStatuses
	guard *contain.Guard
}

func (e guardedStatuses) Save(pod *v1.Pod, status *v1.PodStatus) (err error) {
	defer e.guard.Recover("TerminalStatuses.Save", &err)
	return e.inner.Save(pod, status)
}

func (e guardedStatuses) Drop(uid types.UID) (err error) {
	defer e.guard.Recover("TerminalStatuses.Drop", &err)
	return e.inner.Drop(uid)
}

type guardedHTTP struct {
	inner HTTPGetter
	guard *contain.Guard
}

func (h guardedHTTP) Get(ctx context.Context, url string, header http.Header) (err error) {
	defer h.guard.Recover("HTTP.Get", &err)
	return h.inner.Get(ctx, url, header)
}

type guardedKeyring struct {
	inner images.Keyring
	guard *contain.Guard
}

func (k guardedKeyring) Credentials(ctx context.Context, image string, pod *v1.Pod, pullSecrets []v1.Secret) (auths []runtime.Auth, err error) {
	defer k.guard.Recover("Keyring.Credentials", &err)
	return k.inner.Credentials(ctx, image, pod, pullSecrets)
}

type guardedLogs struct {
	inner AttemptLogs
	guard *contain.Guard
}

func (l guardedLogs) SetUp(pod runtime.PodRef) (err error) {
	defer l.guard.Recover("Logs.SetUp", &err)
	return l.inner.SetUp(pod)
}

func (l guardedLogs) NextAttempt(pod runtime.PodRef, container string) (next uint32, err error) {
	defer l.guard.Recover("Logs.NextAttempt", &err)
	return l.inner.NextAttempt(pod, container)
}

// Link implements LogLinker, if the wrapped AttemptLogs are one.
func (l guardedLogs) Link(pod runtime.PodRef, container, id string, attempt uint32) (err error) {
	linker, ok := l.inner.(LogLinker)
	if !ok {
		return nil
	}
	defer l.guard.Recover("Logs.Link", &err)
	return linker.Link(pod, container, id, attempt)
}

// LogDir implements LogDirectory. It returns an empty path if the wrapped AttemptLogs are no
// LogDirectory.
func (l guardedLogs) LogDir(pod runtime.PodRef) (dir string, err error) {
	decides, ok := l.inner.(LogDirectory)
	if !ok {
		return "", nil
	}
	defer l.guard.Recover("Logs.LogDir", &err)
	return decides.LogDir(pod)
}

type guardedStates struct {
	ContainerStates
	guard *contain.Guard
}

func (c guardedStates) SaveContainers(pod *v1.Pod, states []ContainerState) (err error) {
	defer c.guard.Recover("ContainerStates.SaveContainers", &err)
	return c.ContainerStates.SaveContainers(pod, states)
}

func (c guardedStates) ConsumeContainers(pod *v1.Pod) []ContainerState {
	return contain.CallOrDefault(c.guard, "ContainerStates.ConsumeContainers", nil, func() []ContainerState { return c.ContainerStates.ConsumeContainers(pod) })
}

func (c guardedStates) DropContainers(uid types.UID) (err error) {
	defer c.guard.Recover("ContainerStates.DropContainers", &err)
	return c.ContainerStates.DropContainers(uid)
}
