package podsync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/runtime"
)

// pullCredentials returns the credentials for the image. A Secret that cannot be read is only noted: the
// image may be public.
func (p *podStarter) pullCredentials(ctx context.Context, image string) (auths []runtime.Auth) {
	var missing []string
	err := p.callWithTimeout(ctx, p.cfg.CallTimeout, func(ctx context.Context) (err error) {
		var secrets []v1.Secret
		secrets, missing = p.pullSecrets(ctx)
		auths, err = p.cfg.Keyring.Credentials(ctx, image, p.pod, secrets)
		return err
	})
	if ctx.Err() != nil {
		return nil // Nothing is pulled any more.
	}
	if len(missing) > 0 {
		p.pulls.addFault("Unable to retrieve some image pull secrets (%s); attempting to pull the image may not succeed.", strings.Join(missing, ", "))
	}
	if err != nil {
		p.pulls.addFault("Not all credentials for image %q can be used: %v", image, err)
	}
	return auths
}

// pulls are the faults of credentials in one sync pass, and whether a pull has failed in it.
type pulls struct {
	faults []string // each once
	failed bool
}

func (p *pulls) addFault(format string, args ...any) {
	fault := sentence(format, args)
	if !slices.Contains(p.faults, fault) {
		p.faults = append(p.faults, fault)
	}
}

// reportCredentials records events for the faults of credentials if a pull has failed in this pass. If
// all pulls have succeeded the credentials were not needed.
func (p *podStarter) reportCredentials() {
	if !p.pulls.failed {
		return
	}
	for _, fault := range p.pulls.faults {
		p.recordWarning("", eventNoPullSecret, "%s", fault)
	}
}

// pullSecrets returns the Secrets that the pod names for its images, and the names of the Secrets that
// cannot be read.
func (p *podStarter) pullSecrets(ctx context.Context) (secrets []v1.Secret, missing []string) {
	for _, ref := range p.pod.Spec.ImagePullSecrets {
		if ref.Name == "" {
			continue // The API allows an empty name, which means nothing.
		}
		secret, err := p.pullSecret(ctx, ref.Name)
		if err != nil {
			p.cfg.Log.DebugContext(ctx, "pull secret", "uid", p.pod.UID, "secret", ref.Name, "err", err)
			missing = append(missing, ref.Name)
			continue
		}
		secrets = append(secrets, *secret)
	}
	return secrets, missing
}

// pullSecret returns a Secret in the namespace of the pod.
func (p *podStarter) pullSecret(ctx context.Context, name string) (*v1.Secret, error) {
	if p.cfg.Objects == nil {
		return nil, fmt.Errorf("podsync: there are no secrets: %w", runtime.ErrNotFound)
	}
	secret, err := p.cfg.Objects.Secret(ctx, p.pod.Namespace, name)
	if err == nil && secret == nil {
		err = errors.New("podsync: no secret and no error")
	}
	return secret, err
}
