package localapi

import (
	"net/http"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// readablePaths are the paths outside resources that clients may read. A star at the end matches any suffix.
var readablePaths = []string{"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi/*", "/readyz", "/version"}

// Reasons why an action is denied. A read-only API has its own reason because another configuration would allow the
// write.
const (
	reasonNotServed = "this server does not serve it"
	reasonReadOnly  = "this server is read only"
)

// reviewHandler handles a request of a user.
type reviewHandler func(http.ResponseWriter, *http.Request, authenticationv1.UserInfo)

// reviewer answers reviews in which a user asks about that user's own rights.
type reviewer struct{ *backend }

// handlers returns the review handlers by path.
func (v *reviewer) handlers() map[string]reviewHandler {
	return map[string]reviewHandler{
		"/apis/authentication.k8s.io/v1/selfsubjectreviews":      v.reviewUser,
		"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": v.reviewAccess,
		"/apis/authorization.k8s.io/v1/selfsubjectrulesreviews":  v.reviewRules,
	}
}

// reviewUser answers a SelfSubjectReview with the user of the request. kubectl auth whoami shows it.
func (v *reviewer) reviewUser(w http.ResponseWriter, r *http.Request, user authenticationv1.UserInfo) {
	review := &authenticationv1.SelfSubjectReview{}
	if v.readReview(w, r, authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"), review) {
		review.Status.UserInfo = user
		sendJSON(w, http.StatusCreated, review)
	}
}

// reviewAccess answers a SelfSubjectAccessReview: whether the API serves the action, and the reason if it does
// not. Clients such as k9s show only allowed actions.
func (v *reviewer) reviewAccess(w http.ResponseWriter, r *http.Request, _ authenticationv1.UserInfo) {
	review := &authorizationv1.SelfSubjectAccessReview{}
	if v.readReview(w, r, authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), review) {
		review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: v.isAllowed(&review.Spec)}
		if !review.Status.Allowed {
			review.Status.Reason = v.reasonForDeniedAction(review.Spec.ResourceAttributes)
		}
		sendJSON(w, http.StatusCreated, review)
	}
}

// reviewRules answers a SelfSubjectRulesReview with all verbs, resources and readable paths that the API
// serves. They are the same in each namespace.
func (v *reviewer) reviewRules(w http.ResponseWriter, r *http.Request, _ authenticationv1.UserInfo) {
	review := &authorizationv1.SelfSubjectRulesReview{}
	if !v.readReview(w, r, authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectRulesReview"), review) {
		return
	}
	review.Status = authorizationv1.SubjectRulesReviewStatus{
		ResourceRules:    []authorizationv1.ResourceRule{},
		NonResourceRules: []authorizationv1.NonResourceRule{{Verbs: []string{"get"}, NonResourceURLs: readablePaths}},
	}
	for _, g := range v.servedGroups() {
		for _, one := range g.resources {
			review.Status.ResourceRules = append(review.Status.ResourceRules, authorizationv1.ResourceRule{
				Verbs: one.Verbs, APIGroups: []string{g.group}, Resources: []string{one.Name},
			})
		}
	}
	sendJSON(w, http.StatusCreated, review)
}

// readReview decodes the body of a POST request into review and sets the kind. If it returns false, it has sent
// an error.
func (v *reviewer) readReview(w http.ResponseWriter, r *http.Request, kind schema.GroupVersionKind, review k8sruntime.Object) (ok bool) {
	if r.Method != http.MethodPost {
		resource := schema.GroupResource{Group: kind.Group, Resource: strings.ToLower(kind.Kind) + "s"}
		sendError(w, apierrors.NewMethodNotSupported(resource, strings.ToLower(r.Method)))
		return false
	}
	text, err := readBody(w, r)
	if err == nil {
		err = v.codec.decode(text, false, kind, review)
	}
	if err != nil {
		sendError(w, err)
		return false
	}
	review.GetObjectKind().SetGroupVersionKind(kind)
	return true
}

// isAllowed reports whether the API serves the verb on the resource. For a path it reports whether the verb is
// get and the path is readable.
func (v *reviewer) isAllowed(spec *authorizationv1.SelfSubjectAccessReviewSpec) bool {
	if asked := spec.ResourceAttributes; asked != nil {
		return slices.Contains(v.resourceVerbs(asked), asked.Verb)
	}
	asked := spec.NonResourceAttributes
	return asked != nil && asked.Verb == "get" && slices.ContainsFunc(readablePaths, func(path string) bool {
		prefix, more := strings.CutSuffix(path, "*")
		return asked.Path == path || more && strings.HasPrefix(asked.Path, prefix)
	})
}

// resourceVerbs returns the verbs that the API serves on the resource of a review, or nil if it does not serve
// the resource.
func (v *reviewer) resourceVerbs(attributes *authorizationv1.ResourceAttributes) metav1.Verbs {
	name := strings.TrimSuffix(attributes.Resource+"/"+attributes.Subresource, "/")
	for _, g := range v.servedGroups() {
		for _, r := range g.resources {
			if g.group == attributes.Group && r.Name == name {
				return r.Verbs
			}
		}
	}
	return nil
}

// reasonForDeniedAction returns the reason that a review gives for an action that the API does not allow. The
// reason is reasonReadOnly if the action writes a pod and Config.Writer is nil. For any other action the reason
// is reasonNotServed.
func (v *reviewer) reasonForDeniedAction(attributes *authorizationv1.ResourceAttributes) string {
	if attributes != nil && v.config.Writer == nil && attributes.Group == "" && attributes.Resource == "pods" && slices.Contains(append([]string{"", evictionSubresource}, writableSubresources...), attributes.Subresource) && slices.Contains(podWriteVerbs, attributes.Verb) {
		return reasonReadOnly
	}
	return reasonNotServed
}
