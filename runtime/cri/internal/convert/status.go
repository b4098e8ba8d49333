package convert

import (
	"encoding/json"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// RuntimeStatus reads the two conditions that there must be. One that is not
// said is not met.
func RuntimeStatus(s *cri.RuntimeStatus) runtime.RuntimeStatus {
	out := runtime.RuntimeStatus{RuntimeMessage: unsaid, NetworkMessage: unsaid}
	for _, c := range s.GetConditions() {
		switch c.GetType() {
		case cri.RuntimeReady:
			out.RuntimeReady, out.RuntimeMessage = c.GetStatus(), why(c)
		case cri.NetworkReady:
			out.NetworkReady, out.NetworkMessage = c.GetStatus(), why(c)
		}
	}
	return out
}

const unsaid = "the runtime does not say"

// why is for people; whoever is ready needs no reason.
func why(c *cri.RuntimeCondition) string {
	if c.GetStatus() {
		return ""
	}
	if c.GetReason() == "" {
		return c.GetMessage()
	}
	if c.GetMessage() == "" {
		return c.GetReason()
	}
	return c.GetReason() + ": " + c.GetMessage()
}

// Event is what a message of the stream is about. The pod is that of the sandbox, or
// of any container in it, and empty if neither is told. It is mine unless another
// owner is told.
func Event(e *cri.ContainerEventResponse, owner string) (event runtime.Event, mine bool) {
	event = runtime.Event{ContainerID: e.GetContainerId(), At: when(e.GetCreatedAt())}
	s := e.GetPodSandboxStatus()
	if s.GetId() == event.ContainerID {
		event.ContainerID = "" // Sandboxes go by the name of containers here.
	}
	if s != nil {
		event.UID = types.UID(s.GetMetadata().GetUid())
		return event, s.GetLabels()[LabelOwner] == owner
	}
	for _, c := range e.GetContainersStatuses() {
		if l := c.GetLabels(); l[LabelPodUID] != "" {
			event.UID = types.UID(l[LabelPodUID])
			return event, l[LabelOwner] == owner
		}
	}
	return event, true
}

// UsedImages returns the images that a container runs or mounts, by all names that its list entry
// and its status have for them.
func UsedImages(listed *cri.Container, s *cri.ContainerStatus) []string {
	used := []string{
		listed.GetImage().GetImage(), listed.GetImageRef(), listed.GetImageId(),
		s.GetImage().GetImage(), s.GetImageRef(), s.GetImageId(), listed.GetAnnotations()[AnnotationImage],
	}
	for _, mount := range s.GetMounts() {
		used = append(used, mount.GetImage().GetImage())
	}
	slices.Sort(used)
	return slices.Compact(slices.DeleteFunc(used, func(name string) bool { return name == "" }))
}

// SandboxImages returns the image of sandboxes from the information beside a runtime's status.
func SandboxImages(info map[string]string) []string {
	var config struct{ SandboxImage string } // As containerd writes its configuration.
	if json.Unmarshal([]byte(info["config"]), &config) != nil || config.SandboxImage == "" {
		return nil
	}
	return []string{config.SandboxImage}
}

// PullImage is the request for an image.
func PullImage(req runtime.PullImageRequest) *cri.PullImageRequest {
	out := &cri.PullImageRequest{Image: &cri.ImageSpec{Image: req.Image, UserSpecifiedImage: req.Image}}
	if req.Auth != nil {
		out.Auth = &cri.AuthConfig{Username: req.Auth.Username, Password: req.Auth.Password, IdentityToken: req.Auth.Token}
	}
	if req.Pod.UID != "" {
		out.SandboxConfig = &cri.PodSandboxConfig{Metadata: metadata(req.Pod, 0)}
		if req.Container != "" {
			out.SandboxConfig.Annotations = map[string]string{LabelContainerName: req.Container}
		}
	}
	return out
}

// Image is an image that is present.
func Image(i *cri.Image) runtime.Image {
	out := runtime.Image{
		ID: i.GetId(), Tags: i.GetRepoTags(), Digests: i.GetRepoDigests(),
		SizeBytes: i.GetSize(), User: i.GetUsername(), Pinned: i.GetPinned(),
	}
	if uid := i.GetUid(); uid != nil {
		out.User = strconv.FormatInt(uid.GetValue(), 10)
	}
	return out
}

// Mountpoint is where images lie and what they take: the first of the file
// systems that says so. Empty: none does.
func Mountpoint(all []*cri.FilesystemUsage) (at string, used uint64) {
	for _, f := range all {
		if f.GetFsId().GetMountpoint() != "" {
			return f.GetFsId().GetMountpoint(), f.GetUsedBytes().GetValue()
		}
	}
	return "", 0
}
