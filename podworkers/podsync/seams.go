package podsync

import (
	"context"
	"errors"
	"net/http"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager/podresources"
	"github.com/podkeel/podkeel/podworkers/podsync/plan"
	"github.com/podkeel/podkeel/runtime"
)

// Objects finds the ConfigMaps and Secrets that pods refer to. Each sync that needs objects calls the
// methods, concurrently. The error for a missing object is runtime.ErrNotFound. Any other error means
// that the object may exist. The caller does not change the returned object.
type Objects interface {
	// ConfigMap returns a ConfigMap of a namespace.
	ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error)
	// Secret returns a Secret of a namespace.
	Secret(ctx context.Context, namespace, name string) (*v1.Secret, error)
}

// Tokens returns the service account tokens that pods project into volumes.
type Tokens interface {
	// Token returns a token of the pod's service account that is bound to the pod. An empty audience is
	// the API server. expirationSeconds is the requested lifetime, which the server may change. Token
	// is called concurrently, in each sync of a pod that has such a volume. It returns the same token
	// until the token must be rotated. It may block as long as a request does.
	Token(ctx context.Context, pod *v1.Pod, audience string, expirationSeconds int64) (string, error)
}

// Claims finds the volumes that are bound to the persistent volume claims of pods.
type Claims interface {
	// Source returns the hostPath or local source of the volume that is bound to a claim, and whether
	// containers may only read it. volume is a volume of the pod, of the kind persistentVolumeClaim or
	// ephemeral. The caller does not change the returned source. Source is called concurrently, in each
	// sync of such a pod and before the creation of each container. It returns the same source for a
	// pod each time. It may block as long as a few requests do. Its error is the reason why the volume
	// is not available now. After an error no container starts, and running containers keep running.
	Source(ctx context.Context, pod *v1.Pod, volume *v1.Volume) (source *v1.PersistentVolumeSource, readOnly bool, err error)
}

// Services finds the services whose addresses become environment variables of containers.
type Services interface {
	// Services returns the services of the pod's namespace and of the namespace default that have a
	// cluster address. It may return others. The caller does not change them. It is called
	// concurrently, before each container is created, and may wait until the services are known. After
	// an error the container is not created.
	Services(ctx context.Context, pod *v1.Pod) ([]*v1.Service, error)
}

// Volumes sets up the volumes of pods on the node. Package volumes has an implementation that uses a
// directory of the host.
type Volumes interface {
	// Problems returns the volumes and mounts of a pod that are not supported. It is pure. It is called
	// when a pod is admitted, and a pod with problems is rejected.
	Problems(pod *v1.Pod) []Problem
	// SetUp creates the missing volumes of the pod and updates the files of existing volumes that show
	// objects, tokens or fields of the pod. It does not change other content of existing volumes. The
	// Syncer calls it in each sync that starts something or has nothing to do, also while the pod runs,
	// one call at a time for a pod. It does not call it in a sync that only stops or removes something,
	// for a terminal pod, after the activeDeadlineSeconds, or while the runtime is not ready. After an
	// error no container starts. Package volumes is an exception: after an error only of files that show
	// objects, tokens or fields, containers start if an earlier SetUp has succeeded in this process.
	SetUp(ctx context.Context, pod *v1.Pod) error
	// Mounts returns the mounts of one container, after SetUp. expand replaces $(NAME) in a
	// subPathExpr. The error of expand names what cannot be expanded. The mount of an image volume has
	// no HostPath. Its Image is the reference of the volume and its ImageSubPath is the subPath. The
	// Syncer replaces Image by the image that it has pulled.
	Mounts(ctx context.Context, pod *v1.Pod, c *v1.Container, expand func(string) (string, error)) ([]runtime.Mount, error)
	// TearDown removes everything that SetUp has created, after all containers of the pod have stopped.
	// It may be repeated. It is no error if nothing is left to remove.
	TearDown(ctx context.Context, uid types.UID) error
}

// VolumeRefresher is an optional part of Volumes. It updates the files of volumes while a call for the
// pod is in progress, because that call may hang for minutes.
type VolumeRefresher interface {
	// Refresh rewrites the files of volumes that SetUp has created and whose content has changed. It
	// creates no volume. It leaves nothing behind for a pod that was torn down or not set up. Files
	// that a SetUp of an earlier process has created count as set up.
	//
	// Refresh is called after a change, one call at a time for a pod, and concurrently with all other
	// methods. The Syncer does not call it while a TearDown of the pod runs, nor in the first seconds
	// of a SetUp. When a SetUp or TearDown begins while Refresh runs, the Syncer cancels the context of
	// Refresh and does not wait for it. Neither SetUp nor Refresh may overwrite content that the other
	// one has read later. After an error Refresh is called again.
	Refresh(ctx context.Context, pod *v1.Pod) error
}

// VolumeFileReader is an optional part of Volumes. It reads files that containers have written, for the
// variables of env[].valueFrom.fileKeyRef. Without it a pod that has such variables is rejected.
type VolumeFileReader interface {
	// ReadVolumeFile returns at most the first limit bytes of a file in an emptyDir volume of the pod,
	// and whether the file has more. path is relative to the volume. Links are followed as if the
	// volume were the root directory, so that no link leads out of it. The error is published, so it
	// must not have a path of the host. It is fs.ErrNotExist if the file does not exist. If path is not
	// a regular file, ReadVolumeFile returns an error at once. It is called after SetUp and before each
	// creation of a container that has such a variable, concurrently for different pods.
	ReadVolumeFile(ctx context.Context, pod *v1.Pod, volume, path string, limit int) (data []byte, more bool, err error)
}

// Cgroups creates and removes the cgroups of pods, which limit all containers of a pod together. The node of
// package node implements it with a cgroups.Manager.
type Cgroups interface {
	// SetUp creates the cgroup of the pod if it is missing, and gives it the limits that follow from the
	// resources in the spec. It returns the directory, in which the runtime creates the sandbox; "" lets the
	// runtime choose. The Syncer calls it in each sync of a pod that does not terminate, before it starts
	// anything, one call at a time for a pod. It calls it twice if it resizes containers. SetUp should be cheap
	// if nothing has changed. After an error nothing starts, and the sync is retried. With an error and a
	// directory the cgroup only keeps a limit that is larger than the new one, because the pod uses more; then
	// containers start, and the sync is retried.
	SetUp(ctx context.Context, pod *v1.Pod) (dir string, err error)
	// TearDown removes the cgroup, after all containers and sandboxes of the pod have stopped. It may be
	// repeated. It is no error if there is none. After an error it is called again.
	TearDown(ctx context.Context, uid types.UID) error
}

// OOMReader is an optional part of Cgroups. It shows which containers the kernel has killed processes of.
type OOMReader interface {
	// ReadOOM returns the counters of the pod's cgroup and of the cgroups of its containers. For a pod
	// without a cgroup all counters of the pod are zero. For a node that cannot read counters the snapshot
	// is empty. The snapshot does not change later. The Syncer calls it in the first pass over a pod, in each pass in which a container has
	// newly exited or newly has the reason OOMKilled, before it stops containers, and before TearDown. An error is logged, and the next pass
	// calls it again.
	ReadOOM(uid types.UID) (plan.OOMSnapshot, error)
}

// PodValuesReader is an optional part of Cgroups. It shows the limits that the cgroup of a pod has, for the status of a pod
// with resources of its own.
type PodValuesReader interface {
	// ReadPodValues returns the values of the cgroup of a pod, and false if the pod has none or the node does not
	// use it. The Syncer calls it when it publishes the status of a pod with spec.resources, and again after SetUp,
	// one call at a time for a pod. After an error the status has the resources of the spec.
	ReadPodValues(uid types.UID) (values podresources.PodValues, found bool, err error)
}

// ErrVolumesOfAnotherPod is the error of Volumes and Files if the directory of the UID belongs to a pod
// of another name and the runtime still has containers of the UID.
var ErrVolumesOfAnotherPod = errors.New("podsync: the volumes of this UID belong to another pod, and the runtime knows containers of that UID")

// DiscardGuard is an optional part of Volumes. Before it discards the volumes of another pod with the
// same UID, it checks that the runtime has no containers of the UID.
type DiscardGuard interface {
	// GuardDiscards is called once by New, before all other methods. known reports whether the runtime
	// has a record of a container of the UID, running or not. It calls the runtime, so it may block as
	// long as such a call does. While it returns true or an error, the volumes of the other pod must
	// not be discarded. It may be called concurrently.
	GuardDiscards(known func(uid types.UID) (bool, error))
}

// VolumeOwner is an optional part of Volumes. It names the pod that volumes belong to, even if an
// earlier process created them.
type VolumeOwner interface {
	// OwnerOf returns the pod that the volumes of a UID were created for. found is false if there are
	// no volumes, or if their record of the pod cannot be read. It is called when a source adds a pod,
	// and may be called concurrently with all other methods.
	OwnerOf(uid types.UID) (owner types.NamespacedName, found bool)
}

// Files writes the single files that a node has for the containers of pods. Volumes.TearDown removes
// them. The methods may be called concurrently for different pods.
type Files interface {
	// Hosts writes the hosts file of a pod, which maps the names to the addresses, and returns its path
	// on the host.
	Hosts(pod *v1.Pod, ips, names []string) (path string, err error)
	// TerminationLog creates the file for the termination message of one attempt of a container, and
	// returns its path on the host.
	TerminationLog(pod *v1.Pod, container string, attempt uint32) (path string, err error)
	// ReadTerminationLog returns at most the last limit bytes of the file for the termination message.
	// A missing file is empty. It is an error if the path is not a regular file.
	ReadTerminationLog(uid types.UID, container string, attempt uint32, limit int) ([]byte, error)
}

// TerminalStatuses stores the terminal statuses of pods for a restarted agent. Package checkpoint has
// an implementation on disk. Calls for one pod come one after the other.
type TerminalStatuses interface {
	// Save stores the status of a terminal pod. It is called when the status is published, and
	// again when no container of the pod runs. For a pod that was evicted or was active for too long,
	// the first call comes before the containers are stopped. Save must not change the status. A nil
	// error means that the status survives the process. An error does not keep the pod from
	// terminating. Later passes over the pod call Save again. After SyncTerminatedPod the Syncer does
	// not retry. A caller that needs such a retry makes it itself, as package node does.
	Save(pod *v1.Pod, status *v1.PodStatus) error
	// Drop deletes the status of a previous incarnation of the UID. It is called for a pod that is not
	// terminal, before any of its containers starts. Mostly nothing is stored, which is no error. A nil
	// error means that the status stays deleted, also after a power failure.
	Drop(uid types.UID) error
}

// AttemptLogs manages the log directories of pods. Package logfiles has an implementation on disk.
// Calls for one pod come one after the other. Calls for different pods are concurrent.
type AttemptLogs interface {
	// SetUp creates the log directory of a pod, if it does not exist. It is called in each sync that
	// starts something, before the first container is created. An error fails the sync, which is
	// retried.
	SetUp(pod runtime.PodRef) error
	// NextAttempt returns the number after the highest attempt that has a log file, and zero if the
	// container has no log file. It is called before the creation of a container if neither a record of
	// the runtime nor the published status has an attempt. After an error the container starts with
	// attempt zero.
	NextAttempt(pod runtime.PodRef, container string) (uint32, error)
}

// LogLinker is an optional part of AttemptLogs. It creates a link to the log of each container, for log
// collectors. Package logfiles has an implementation.
type LogLinker interface {
	// Link creates the link. It is called after each start of a container. An error is only logged.
	Link(pod runtime.PodRef, container, id string, attempt uint32) error
}

// LogDirectory is an optional part of AttemptLogs that chooses the log directory of each pod. Without
// it the logs are in the directory NAMESPACE_NAME_UID of Config.LogRoot. Package logfiles has an
// implementation.
type LogDirectory interface {
	// LogDir returns the absolute path of the directory that SetUp has created for a pod. It is called
	// before the creation of each sandbox. An error fails the sync, which is retried.
	LogDir(pod runtime.PodRef) (string, error)
}

// HTTPGetter sends the requests of HTTP hooks. Package hookhttp has an implementation.
type HTTPGetter interface {
	// Get sends a request to an address of the pod. Any response is a success. An error means that
	// there was no response. Get returns when ctx ends.
	Get(ctx context.Context, url string, header http.Header) error
}
