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

// pullCredentials returns the usable credentials for an image, or nil if ctx has ended. If a pull Secret cannot
// be read or a credential cannot be used, it stores a message for a later event in pullProblems. That is no
// error, because the image may be public.
func (p *podStarter) pullCredentials(ctx context.Context, image string) (auths []runtime.Auth) {
	var missing []string
	err := p.callWithTimeout(ctx, p.cfg.CallTimeout, func(ctx context.Context) (err error) {
		var secrets []v1.Secret
		secrets, missing = p.readPullSecrets(ctx)
		auths, err = p.cfg.Keyring.Credentials(ctx, image, p.pod, secrets)
		return err
	})
	if ctx.Err() != nil {
		return nil // The pull is cancelled.
	}
	if len(missing) > 0 {
		p.pullProblems.addCredentialFault("Unable to retrieve some image pull secrets (%s); attempting to pull the image may not succeed.", strings.Join(missing, ", "))
	}
	if err != nil {
		p.pullProblems.addCredentialFault("Not all credentials for image %q can be used: %v", image, err)
	}
	return auths
}

// pullProblems has the credential faults of one sync, and whether a pull has failed in it.
type pullProblems struct {
	faults []string // each message once
	failed bool
}

// addCredentialFault formats a message and appends it to the faults, unless they already contain it.
func (p *pullProblems) addCredentialFault(format string, args ...any) {
	fault := formatPlainMessageWithoutEndColon(format, args)
	if !slices.Contains(p.faults, fault) {
		p.faults = append(p.faults, fault)
	}
}

// recordCredentialFaultsIfPullFailed records a Warning event for each stored credential message, if an image
// pull has failed in this sync. If no pull has failed, the missing credentials were not needed.
func (p *podStarter) recordCredentialFaultsIfPullFailed() {
	if !p.pullProblems.failed {
		return
	}
	for _, fault := range p.pullProblems.faults {
		p.recordWarning("", eventNoPullSecret, "%s", fault)
	}
}

// readPullSecrets returns the Secrets in imagePullSecrets of the pod, and the names of the Secrets that cannot
// be read. It skips references with an empty name.
func (p *podStarter) readPullSecrets(ctx context.Context) (secrets []v1.Secret, missing []string) {
	for _, ref := range p.pod.Spec.ImagePullSecrets {
		if ref.Name == "" {
			continue // The API allows an empty name, which means nothing.
		}
		secret, err := p.readRequiredPullSecret(ctx, ref.Name)
		if err != nil {
			p.cfg.Log.DebugContext(ctx, "pull secret", "uid", p.pod.UID, "secret", ref.Name, "err", err)
			missing = append(missing, ref.Name)
			continue
		}
		secrets = append(secrets, *secret)
	}
	return secrets, missing
}

// readRequiredPullSecret returns a Secret in the namespace of the pod from Config.Objects. It returns an error
// if Objects is not set, returns an error, or returns no Secret.
func (p *podStarter) readRequiredPullSecret(ctx context.Context, name string) (*v1.Secret, error) {
	if p.cfg.Objects == nil {
		return nil, fmt.Errorf("podsync: no source of secrets is configured: %w", runtime.ErrNotFound)
	}
	secret, err := p.cfg.Objects.Secret(ctx, p.pod.Namespace, name)
	if err == nil && secret == nil {
		err = errors.New("podsync: Objects returned no secret and no error")
	}
	return secret, err
}
