package podsync

import (
	"context"
	"errors"
	"net/http"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/runtime"
)

// Objects finds the ConfigMaps and Secrets that pods refer to. Its methods are
// called concurrently, in each sync that needs them. An object that does not
// exist is runtime.ErrNotFound; any other error means that nothing is known of
// it. What is returned is only read.
type Objects interface {
	// ConfigMap finds one of a namespace.
	ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error)
	// Secret finds one of a namespace.
	Secret(ctx context.Context, namespace, name string) (*v1.Secret, error)
}

// Tokens gets the tokens of service accounts that pods project into volumes.
type Tokens interface {
	// Token returns a token of the pod's service account, bound to the pod: for the API
	// server if audience is empty, to last for so long if the server agrees. It is called
	// concurrently, in each sync of a pod that has such a volume, and returns the same
	// token until it is to be replaced. It may block as long as a request does.
	Token(ctx context.Context, pod *v1.Pod, audience string, expirationSeconds int64) (string, error)
}

// Claims finds the volumes to which the persistent volume claims of pods are bound.
type Claims interface {
	// Source returns what the volume of a claim is, hostPath or local, and whether containers
	// may only read it. volume is one of the pod's, of the kind persistentVolumeClaim or
	// ephemeral. What is returned is only read. It is called concurrently, in each sync of such a pod and before each of
	// its containers is made, and gives a pod the same answer each time. It may block as
	// long as a few requests do. Its error says why the volume cannot be had now, and
	// keeps containers from being started; what runs goes on.
	Source(ctx context.Context, pod *v1.Pod, volume *v1.Volume) (source *v1.PersistentVolumeSource, readOnly bool, err error)
}

// Services finds the services that containers are told of by variables.
type Services interface {
	// Services returns those that have a cluster address, of the pod's namespace and of the
	// namespace default, and perhaps others. What is returned is only read. It is called
	// concurrently, before each container is started, and may wait until the services are
	// known. Its error keeps the container from being created.
	Services(ctx context.Context, pod *v1.Pod) ([]*v1.Service, error)
}

// Volumes brings the volumes of pods to the machine. Package volumes has one
// on a directory of the host.
type Volumes interface {
	// Problems names the volumes of a pod, and the mounts, that cannot be had
	// here. It is pure, and called when a pod is admitted; a pod with problems
	// is rejected.
	Problems(pod *v1.Pod) []Problem
	// SetUp makes everything that the pod mounts, or brings it up to date. It
	// is called in each sync of a pod that has volumes, also while it runs, by
	// one caller at a time for a pod; what is there is left as it is. Its error
	// keeps containers from being started.
	SetUp(ctx context.Context, pod *v1.Pod) error
	// Mounts are the mounts of one container, after SetUp. Expand replaces
	// $(NAME) in a subPathExpr; its error names what cannot be expanded. The mount of
	// an image volume has no HostPath: its Image is the reference of the volume, its
	// ImageSubPath the subPath, and the Syncer puts the image that it has pulled there.
	Mounts(ctx context.Context, pod *v1.Pod, c *v1.Container, expand func(string) (string, error)) ([]runtime.Mount, error)
	// TearDown removes what SetUp has made, once nothing of the pod runs any
	// more. It may be repeated; nothing to remove is no error.
	TearDown(ctx context.Context, uid types.UID) error
}

// VolumeRefresher is a Volumes that brings the files of volumes up to date while a call for
// the pod is under way, which may hang for minutes.
type VolumeRefresher interface {
	// Refresh writes anew the files that SetUp has made and that are not what they should be.
	// It makes no volume, and leaves nothing behind for a pod that was torn down or not set
	// up; files that a SetUp of an earlier agent has made count. It is called after a
	// change, once at a time for a pod and concurrently with all other methods. It does not
	// begin while TearDown of the pod is under way, nor within seconds of the begin of a
	// SetUp that is; when one begins meanwhile its context is cancelled, but the Syncer does
	// not wait for it. What either of SetUp and Refresh has read may not replace what the
	// other one has read later. An error has it repeated.
	Refresh(ctx context.Context, pod *v1.Pod) error
}

// VolumeFileReader is a Volumes that reads files which containers have written, for the variables of
// env[].valueFrom.fileKeyRef. A pod that has such variables is rejected without it.
type VolumeFileReader interface {
	// ReadVolumeFile returns at most the first limit bytes of a file in an emptyDir volume of the
	// pod, and whether there are more. path is relative to the volume. Links are followed as if
	// the volume were the root, so that none leads out of it. The error is published: it names no
	// path of the host. It is fs.ErrNotExist if there is no such file; anything else than a
	// regular file is an error, at once. The call comes after SetUp and before each creation of a
	// container that has such a variable, concurrently for different pods.
	ReadVolumeFile(ctx context.Context, pod *v1.Pod, volume, path string, limit int) (data []byte, more bool, err error)
}

// ErrVolumesOfAnotherPod is the error of a Volumes and a Files that keep what a pod of another name
// has left under the UID, because the runtime knows containers of the UID.
var ErrVolumesOfAnotherPod = errors.New("podsync: the volumes of this UID belong to another pod, and the runtime knows containers of that UID")

// DiscardGuard is a Volumes that asks for the containers of a UID before it discards what a pod of
// another name has left under the UID.
type DiscardGuard interface {
	// GuardDiscards is called once by New, before all other methods. known reports whether the
	// runtime has a record of a container of the UID, whether it runs or not. It asks the runtime,
	// so it may block as long as such a call does. While it returns true or an error nothing of the
	// other pod may be discarded. It may be called concurrently.
	GuardDiscards(known func(uid types.UID) (bool, error))
}

// VolumeOwner is a Volumes that can name the pod of the volumes that it keeps, even if an earlier
// process made them.
type VolumeOwner interface {
	// OwnerOf returns the pod that the volumes under a UID were made for. It is false if there are
	// none, or if their record of the pod cannot be read. It is called when a source adds a pod,
	// and may be called concurrently with all other methods.
	OwnerOf(uid types.UID) (owner types.NamespacedName, found bool)
}

// Files are the single files that a node keeps for the containers of pods. They
// go with Volumes.TearDown. Their methods may be called for different pods at
// once.
type Files interface {
	// Hosts writes the hosts file of a pod, in which its addresses have the names,
	// and returns its path on the host.
	Hosts(pod *v1.Pod, ips, names []string) (path string, err error)
	// TerminationLog makes the file into which an attempt at a container may
	// write its termination message, and returns its path on the host.
	TerminationLog(pod *v1.Pod, container string, attempt uint32) (path string, err error)
	// ReadTerminationLog returns at most the last limit bytes of such a file. A
	// file that is not there is empty; one that is no regular file any more is an
	// error.
	ReadTerminationLog(uid types.UID, container string, attempt uint32, limit int) ([]byte, error)
}

// TerminalStatuses keep how pods have ended, for an agent that comes after this one.
// Package checkpoint has them on a disk. Calls for one pod come one after the other.
type TerminalStatuses interface {
	// Save is called with the status of a pod that is over: as soon as that is
	// published, so before the pod is stopped if it was evicted or was active for too
	// long, and once more when nothing of it runs. The status is only read. nil says
	// that it outlives the process. An error does not keep the pod from ending, and Save
	// is called no more often for it: a caller that needs a retry makes it, as package
	// node does.
	Save(pod *v1.Pod, status *v1.PodStatus) error
	// Drop is called when a pod is seen that is not over, before anything of it is
	// started: what was saved of a previous incarnation of its UID must not count for it.
	// Mostly there is nothing to drop, which is no error.
	Drop(uid types.UID) error
}

// AttemptLogs are the log directories of pods. Package logfiles has them on a disk. Calls for
// one pod come one after the other, calls for different pods concurrently.
type AttemptLogs interface {
	// SetUp creates the directory for the logs of a pod, or does nothing if there is one. It is
	// called in each sync that starts something, before the first container is created. An
	// error fails the sync, which is tried again.
	SetUp(pod runtime.PodRef) error
	// NextAttempt returns the number after the highest attempt of which the container has a
	// log file, and zero if it has none. It is called before a container is created for
	// which neither a record of the runtime nor the published status has an attempt. After
	// an error the container begins with attempt zero.
	NextAttempt(pod runtime.PodRef, container string) (uint32, error)
}

// LogLinker is an AttemptLogs that also keeps a link to the log of each container, for those who
// collect logs. Package logfiles has it.
type LogLinker interface {
	// Link makes the link. It is called each time a container was started. An error is
	// logged, and nothing else.
	Link(pod runtime.PodRef, container, id string, attempt uint32) error
}

// LogDirectory is an AttemptLogs that decides where the logs of a pod are. With another one they are
// in the directory NAMESPACE_NAME_UID of Config.LogRoot. Package logfiles has it.
type LogDirectory interface {
	// LogDir returns the absolute path of the directory that SetUp has made for a pod. It is called
	// each time before a sandbox is created. An error fails the sync, which is tried again.
	LogDir(pod runtime.PodRef) (string, error)
}

// HTTPGetter makes the requests of http hooks. Package hookhttp has the usual
// one.
type HTTPGetter interface {
	// Get makes a request to an address of the pod. Any answer is a success; an
	// error says that there was none. It ends with ctx.
	Get(ctx context.Context, url string, header http.Header) error
}
