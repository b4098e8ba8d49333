package apiservertest

import (
	"context"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
)

// reviews implements apiserver.Reviews.
type reviews struct{ c *Client }

// CreateTokenReview authenticates the tokens that CreateToken has granted.
func (r reviews) CreateTokenReview(ctx context.Context, review *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
	review = review.DeepCopy()
	return doRequest(ctx, r.c, Request{Verb: "create", Resource: "tokenreviews"}, func() (*authenticationv1.TokenReview, error) {
		for k, o := range r.c.s.mu.objects {
			if k.resource != "serviceaccounts" {
				continue
			}
			for n := 1; n <= r.c.s.mu.tokens; n++ {
				if review.Spec.Token == tokenValue(n, k.namespace, k.name, o.GetUID()) {
					review.Status.Authenticated = true
					review.Status.User = authenticationv1.UserInfo{
						Username: fmt.Sprintf("system:serviceaccount:%s:%s", k.namespace, k.name), UID: string(o.GetUID()),
						Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + k.namespace, "system:authenticated"},
					}
				}
			}
		}
		return review, nil
	})
}

// CreateSubjectAccessReview allows everything to system:masters, and nothing to other users.
func (r reviews) CreateSubjectAccessReview(ctx context.Context, review *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
	review = review.DeepCopy()
	return doRequest(ctx, r.c, Request{Verb: "create", Resource: "subjectaccessreviews"}, func() (*authorizationv1.SubjectAccessReview, error) {
		review.Status.Allowed = slices.Contains(review.Spec.Groups, "system:masters")
		return review, nil
	})
}

var reviewCases = []Case{
	{"review/token", "The user of a token is named, and a token that the server does not know has none.", reviewToken},
	{"review/access", "What a user may do differs from what the user may not.", reviewAccess},
}

func reviewToken(b *bench) {
	pod := b.createPod("a", func(pod *v1.Pod) { withToken(pod, "") })
	b.retryUntilAllowed("CreateToken", func() error {
		token, err := b.h.Server.Tokens().CreateToken(b.ctx, b.h.Namespace, "default", newTokenRequest(pod))
		if err != nil {
			return err
		}
		for value, want := range map[string]string{token.Status.Token: "system:serviceaccount:" + b.h.Namespace + ":default", "unknown": ""} {
			out, err := b.h.Server.Reviews().CreateTokenReview(b.ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: value}})
			b.Must(err, "CreateTokenReview")
			b.Check(out.Status.User.Username == want && out.Status.Authenticated == (want != ""), "it is a token of %q (%v)", out.Status.User.Username, out.Status.Authenticated)
		}
		return nil
	})
}

func reviewAccess(b *bench) {
	for group, want := range map[string]bool{"system:masters": true, "system:authenticated": false} {
		out, err := b.h.Server.Reviews().CreateSubjectAccessReview(b.ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "alice", Groups: []string{group},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Version: "v1", Resource: "nodes", Subresource: "proxy", Name: b.h.Node},
		}})
		b.Must(err, "CreateSubjectAccessReview")
		b.Check(out.Status.Allowed == want, "it is allowed to %s: %v", group, out.Status.Allowed)
	}
}
