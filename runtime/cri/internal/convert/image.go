package convert

import (
	"strconv"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

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
