package apiservertest

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// events implements apiserver.Events.
type events struct{ c *Client }

func (e events) CreateEvent(ctx context.Context, event *v1.Event) (*v1.Event, error) {
	event = event.DeepCopy()
	return doRequest(ctx, e.c, Request{Verb: "create", Resource: "events", Namespace: event.Namespace, Name: event.Name}, func() (*v1.Event, error) {
		return storeCreated(e.c.s, event)
	})
}

func (e events) PatchEvent(ctx context.Context, namespace, name string, patch []byte) (*v1.Event, error) {
	r := Request{Verb: "patch", Resource: "events", Namespace: namespace, Name: name, Keys: patchFieldPaths(patch), Body: patch}
	return doRequest(ctx, e.c, r, func() (*v1.Event, error) {
		o, err := e.c.s.storedObjectOrNotFoundLocked(objectKey{"events", namespace, name})
		if err != nil {
			return nil, err
		}
		after, err := applyPatch(o.(*v1.Event), patch)
		if err != nil {
			return nil, err
		}
		return storeUpdatedOrRemove(e.c.s, o.(*v1.Event), after)
	})
}

// tokens implements apiserver.Tokens.
type tokens struct{ c *Client }

// minTokenLifetime is the shortest lifetime that the server accepts for a token.
const minTokenLifetime = 10 * time.Minute

func (t tokens) CreateToken(ctx context.Context, namespace, account string, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	request = request.DeepCopy()
	r := Request{Verb: "create", Resource: "serviceaccounts/token", Namespace: namespace, Name: account}
	return doRequest(ctx, t.c, r, func() (*authenticationv1.TokenRequest, error) {
		if err := t.admitTokenRequestLocked(namespace, account, &request.Spec); err != nil {
			return nil, err
		}
		sa, err := t.c.s.storedObjectOrNotFoundLocked(objectKey{"serviceaccounts", namespace, account})
		if err != nil {
			return nil, err
		}
		seconds := int64(3600)
		if request.Spec.ExpirationSeconds != nil {
			seconds = *request.Spec.ExpirationSeconds
		}
		if seconds < int64(minTokenLifetime.Seconds()) {
			return nil, apierrors.NewInvalid(schema.GroupKind{Group: authenticationv1.GroupName, Kind: "TokenRequest"}, "", field.ErrorList{
				field.Invalid(field.NewPath("spec", "expirationSeconds"), seconds, "may not specify a duration less than 10 minutes")})
		}
		t.c.s.mu.tokens++
		request.Name, request.Namespace, request.CreationTimestamp = account, namespace, t.c.s.serverTime()
		request.Spec.ExpirationSeconds = &seconds
		request.Status = authenticationv1.TokenRequestStatus{
			Token:               tokenValue(t.c.s.mu.tokens, namespace, account, sa.GetUID()),
			ExpirationTimestamp: metav1.NewTime(t.c.s.serverTime().Add(time.Duration(seconds) * time.Second)),
		}
		return request, nil
	})
}

// tokenValue returns the text of a service account token. The text contains its number, the account and the
// UID.
func tokenValue(number int, namespace, account string, uid types.UID) string {
	return fmt.Sprintf("token-%d:%s/%s:%s", number, namespace, account, uid)
}

// admitTokenRequestLocked refuses a token request unless it is bound to a pod of the node that is no mirror pod
// and uses the service account. A request may name one audience, and then the pod needs a volume with a token
// for that audience.
func (t tokens) admitTokenRequestLocked(namespace, account string, spec *authenticationv1.TokenRequestSpec) error {
	refuse := func(why string) error { return t.c.newNodeRestrictionError("serviceaccounts", account, why) }
	ref := spec.BoundObjectRef
	if ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "" {
		return refuse("requested token not bound to a pod")
	}
	if ref.UID == "" {
		return refuse("requested token with a pod binding without a uid")
	}
	o, err := t.c.s.storedObjectOrNotFoundLocked(podKey(namespace, ref.Name))
	if err != nil {
		return err
	}
	pod := o.(*v1.Pod)
	switch {
	case pod.UID != ref.UID:
		return refuse(fmt.Sprintf("the UID in the bound object reference (%s) does not match the UID in record", ref.UID))
	case pod.Spec.NodeName != t.c.node:
		return refuse("requested token bound to a pod scheduled on a different node")
	case isMirror(pod) || pod.Spec.ServiceAccountName != account:
		return t.c.newNodeAuthorizerError("serviceaccounts", account)
	case len(spec.Audiences) > 1:
		return refuse("can only request a token for a single audience")
	case len(spec.Audiences) == 1 && !hasTokenVolume(pod, spec.Audiences[0]):
		return refuse(fmt.Sprintf("audience %q not found in pod spec volume", spec.Audiences[0]))
	}
	return nil
}

// hasTokenVolume reports whether a pod has a volume with a service account token for the audience.
func hasTokenVolume(pod *v1.Pod, audience string) bool {
	for _, v := range pod.Spec.Volumes {
		for _, p := range projectedSources(v) {
			if p.ServiceAccountToken != nil && p.ServiceAccountToken.Audience == audience {
				return true
			}
		}
	}
	return false
}
