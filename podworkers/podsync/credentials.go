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

// credentials are what the pod may pull an image with. A Secret that cannot be
// had is no reason not to try: the image may be public.
func (s *Syncer) credentials(ctx context.Context, v *syncPass, image string) (auths []runtime.Auth) {
	var missing []string
	err := s.ask(ctx, s.cfg.CallTimeout, func(ctx context.Context) (err error) {
		var secrets []v1.Secret
		secrets, missing = s.pullSecrets(ctx, v.pod)
		auths, err = s.cfg.Keyring.Credentials(ctx, image, v.pod, secrets)
		return err
	})
	if ctx.Err() != nil {
		return nil // Nothing is pulled any more.
	}
	if len(missing) > 0 {
		v.pulls.addFault("Unable to retrieve some image pull secrets (%s); attempting to pull the image may not succeed.", strings.Join(missing, ", "))
	}
	if err != nil {
		v.pulls.addFault("Not all credentials for image %q can be used: %v", image, err)
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

// reportCredentials sends events of the faults of credentials after a sync pass in which a
// pull has failed. Where all pulls succeed the credentials were not needed, and a pull that
// was not tried has not missed them.
func (s *Syncer) reportCredentials(v *syncPass) {
	if !v.pulls.failed {
		return
	}
	for _, fault := range v.pulls.faults {
		s.warn(v, "", eventNoPullSecret, "%s", fault)
	}
}

// pullSecrets are the Secrets that a pod names for its images, and the names of
// those that cannot be had.
func (s *Syncer) pullSecrets(ctx context.Context, pod *v1.Pod) (secrets []v1.Secret, missing []string) {
	for _, ref := range pod.Spec.ImagePullSecrets {
		if ref.Name == "" {
			continue // The API allows it, and it means nothing.
		}
		secret, err := s.pullSecret(ctx, pod.Namespace, ref.Name)
		if err != nil {
			s.cfg.Log.DebugContext(ctx, "pull secret", "uid", pod.UID, "secret", ref.Name, "err", err)
			missing = append(missing, ref.Name)
			continue
		}
		secrets = append(secrets, *secret)
	}
	return secrets, missing
}

func (s *Syncer) pullSecret(ctx context.Context, namespace, name string) (*v1.Secret, error) {
	if s.cfg.Objects == nil {
		return nil, fmt.Errorf("podsync: there are no secrets: %w", runtime.ErrNotFound)
	}
	secret, err := s.cfg.Objects.Secret(ctx, namespace, name)
	if err == nil && secret == nil {
		err = errors.New("podsync: no secret and no error")
	}
	return secret, err
}
