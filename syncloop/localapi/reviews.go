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

// paths are what may be read beside resources. A star at the end stands for all that follows.
var paths = []string{"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi/*", "/readyz", "/version"}

// Why something may not be done. What is read only is said, as another configuration of the
// same server would allow it.
const (
	notServed  = "this server does not serve it"
	isReadOnly = "this server is read only"
)

// answer answers a request of a user.
type answer func(http.ResponseWriter, *http.Request, authenticationv1.UserInfo)

// reviewer answers a user about himself.
type reviewer struct{ *backend }

// reviews returns the functions that answer a user about that user's own rights, by path.
func (v *reviewer) reviews() map[string]answer {
	return map[string]answer{
		"/apis/authentication.k8s.io/v1/selfsubjectreviews":      v.reviewUser,
		"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": v.reviewAccess,
		"/apis/authorization.k8s.io/v1/selfsubjectrulesreviews":  v.reviewRules,
	}
}

// reviewUser answers who it is that asks, as kubectl auth whoami does.
func (v *reviewer) reviewUser(w http.ResponseWriter, r *http.Request, user authenticationv1.UserInfo) {
	review := &authenticationv1.SelfSubjectReview{}
	if v.readReview(w, r, authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"), review) {
		review.Status.UserInfo = user
		sendJSON(w, http.StatusCreated, review)
	}
}

// reviewAccess answers whether the one who asks may do something, by which programs such as
// k9s decide what they show.
func (v *reviewer) reviewAccess(w http.ResponseWriter, r *http.Request, _ authenticationv1.UserInfo) {
	review := &authorizationv1.SelfSubjectAccessReview{}
	if v.readReview(w, r, authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), review) {
		review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: v.allows(&review.Spec)}
		if !review.Status.Allowed {
			review.Status.Reason = v.whyNot(review.Spec.ResourceAttributes)
		}
		sendJSON(w, http.StatusCreated, review)
	}
}

// reviewRules answers what the one who asks may do: the same in each namespace.
func (v *reviewer) reviewRules(w http.ResponseWriter, r *http.Request, _ authenticationv1.UserInfo) {
	review := &authorizationv1.SelfSubjectRulesReview{}
	if !v.readReview(w, r, authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectRulesReview"), review) {
		return
	}
	review.Status = authorizationv1.SubjectRulesReviewStatus{
		ResourceRules:    []authorizationv1.ResourceRule{},
		NonResourceRules: []authorizationv1.NonResourceRule{{Verbs: []string{"get"}, NonResourceURLs: paths}},
	}
	for _, g := range v.groups() {
		for _, one := range g.resources {
			review.Status.ResourceRules = append(review.Status.ResourceRules, authorizationv1.ResourceRule{
				Verbs: one.Verbs, APIGroups: []string{g.group}, Resources: []string{one.Name},
			})
		}
	}
	sendJSON(w, http.StatusCreated, review)
}

// readReview reads the body of a review. It reports whether there is one: else it has answered.
func (v *reviewer) readReview(w http.ResponseWriter, r *http.Request, kind schema.GroupVersionKind, review k8sruntime.Object) bool {
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

// allows reports whether there is what is asked for.
func (v *reviewer) allows(spec *authorizationv1.SelfSubjectAccessReviewSpec) bool {
	if asked := spec.ResourceAttributes; asked != nil {
		return slices.Contains(v.verbs(asked), asked.Verb)
	}
	asked := spec.NonResourceAttributes
	return asked != nil && asked.Verb == "get" && slices.ContainsFunc(paths, func(path string) bool {
		prefix, more := strings.CutSuffix(path, "*")
		return asked.Path == path || more && strings.HasPrefix(asked.Path, prefix)
	})
}

// verbs are those of the resource that is asked for.
func (v *reviewer) verbs(asked *authorizationv1.ResourceAttributes) metav1.Verbs {
	name := strings.TrimSuffix(asked.Resource+"/"+asked.Subresource, "/")
	for _, g := range v.groups() {
		for _, r := range g.resources {
			if g.group == asked.Group && r.Name == name {
				return r.Verbs
			}
		}
	}
	return nil
}

// whyNot is why something that is asked for may not be done.
func (v *reviewer) whyNot(asked *authorizationv1.ResourceAttributes) string {
	if asked != nil && v.config.Writer == nil && asked.Group == "" && asked.Resource == "pods" && slices.Contains([]string{"", statusSub, ephemeral, evictions}, asked.Subresource) && slices.Contains(podWriteVerbs, asked.Verb) {
		return isReadOnly
	}
	return notServed
}
