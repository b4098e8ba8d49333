package images

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/images/internal/registry"
	"github.com/podkeel/podkeel/runtime"
)

// Keyring finds the credentials for images.
type Keyring interface {
	// Credentials returns what to try for an image, in order; none is an
	// anonymous pull. pullSecrets are those that the pod names and that could be
	// had. It is called before each pull, concurrently, and ends with ctx. What
	// it returns is used also if it returns an error, which is only logged.
	Credentials(ctx context.Context, image string, pod *v1.Pod, pullSecrets []v1.Secret) ([]runtime.Auth, error)
}

// PullSecrets is the default Keyring: it reads the Secrets that
// the pod names and knows nothing else.
type PullSecrets struct{}

var _ Keyring = PullSecrets{}

// Credentials implements Keyring. All that cover the image are given, the most
// particular first. Its error names the Secrets that cannot be read.
func (PullSecrets) Credentials(_ context.Context, image string, _ *v1.Pod, pullSecrets []v1.Secret) ([]runtime.Auth, error) {
	auths, err := registry.Credentials(image, pullSecrets)
	if err != nil {
		return auths, fmt.Errorf("images: %w", err)
	}
	return auths, nil
}
