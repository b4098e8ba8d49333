package convert

import (
	"encoding/json"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// RuntimeStatus converts the conditions RuntimeReady and NetworkReady, and the runtime handlers. A missing
// condition is false.
func RuntimeStatus(res *cri.StatusResponse) runtime.RuntimeStatus {
	out := runtime.RuntimeStatus{RuntimeMessage: noConditionMessage, NetworkMessage: noConditionMessage}
	for _, c := range res.GetStatus().GetConditions() {
		switch c.GetType() {
		case cri.RuntimeReady:
			out.RuntimeReady, out.RuntimeMessage = c.GetStatus(), reasonAndMessageIfFalse(c)
		case cri.NetworkReady:
			out.NetworkReady, out.NetworkMessage = c.GetStatus(), reasonAndMessageIfFalse(c)
		}
	}
	for _, h := range res.GetRuntimeHandlers() {
		out.Handlers = append(out.Handlers, runtime.RuntimeHandler{
			Name: h.GetName(), RecursiveReadOnlyMounts: h.GetFeatures().GetRecursiveReadOnlyMounts(), UserNamespaces: h.GetFeatures().GetUserNamespaces(),
		})
	}
	return out
}

const noConditionMessage = "the runtime does not report the condition"

// reasonAndMessageIfFalse returns the reason and message of a runtime condition that is false, as "reason:
// message". It returns "" if the condition is true.
func reasonAndMessageIfFalse(c *cri.RuntimeCondition) string {
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

// Event converts an event. The pod comes from the sandbox, or else from a container, and is empty
// if the event has neither. mine is false only if the event names another owner.
func Event(e *cri.ContainerEventResponse, owner string) (event runtime.Event, mine bool) {
	event = runtime.Event{ContainerID: e.GetContainerId(), At: timeFromNanos(e.GetCreatedAt())}
	s := e.GetPodSandboxStatus()
	if s.GetId() == event.ContainerID {
		event.ContainerID = "" // For a sandbox, CRI puts the sandbox ID into the container ID.
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

// UsedImages returns the images that a container runs or mounts, with all names in its list entry
// and status.
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

// SandboxImages returns the sandbox image from the verbose info of a runtime status.
func SandboxImages(info map[string]string) []string {
	var config struct{ SandboxImage string } // A field of containerd's configuration.
	if json.Unmarshal([]byte(info["config"]), &config) != nil || config.SandboxImage == "" {
		return nil
	}
	return []string{config.SandboxImage}
}

// PullImage returns the CRI request for a pull.
func PullImage(req runtime.PullImageRequest) *cri.PullImageRequest {
	out := &cri.PullImageRequest{Image: &cri.ImageSpec{Image: req.Image, UserSpecifiedImage: req.Image}}
	if req.Auth != nil {
		out.Auth = &cri.AuthConfig{Username: req.Auth.Username, Password: req.Auth.Password, IdentityToken: req.Auth.Token}
	}
	if req.Pod.UID != "" {
		out.SandboxConfig = &cri.PodSandboxConfig{Metadata: toCRISandboxMetadata(req.Pod, 0)}
		if req.Container != "" {
			out.SandboxConfig.Annotations = map[string]string{LabelContainerName: req.Container}
		}
	}
	return out
}

// Image converts a present image.
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

// Mountpoint returns the path and the usage of the first image file system that has a path. The
// path is empty if none has.
func Mountpoint(all []*cri.FilesystemUsage) (at string, used uint64) {
	for _, f := range all {
		if f.GetFsId().GetMountpoint() != "" {
			return f.GetFsId().GetMountpoint(), f.GetUsedBytes().GetValue()
		}
	}
	return "", 0
}
