package apiservertest

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// claims implements apiserver.Claims.
type claims struct{ c *Client }

// claimNamesOf returns the names of the PersistentVolumeClaims that the volumes of a pod refer to, including
// the claims of ephemeral volumes.
func claimNamesOf(pod *v1.Pod) sets.Set[string] {
	names := sets.New[string]()
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			names.Insert(v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names.Insert(pod.Name + "-" + v.Name)
		}
	}
	return names
}

func (c claims) GetClaim(ctx context.Context, namespace, name string) (*v1.PersistentVolumeClaim, error) {
	r := Request{Verb: "get", Resource: "persistentvolumeclaims", Namespace: namespace, Name: name}
	return doRequest(ctx, c.c, r, func() (*v1.PersistentVolumeClaim, error) {
		if err := c.c.checkReferencedLocked(r, claimNamesOf); err != nil {
			return nil, err
		}
		o, err := c.c.s.storedObjectOrNotFoundLocked(objectKey{r.Resource, namespace, name})
		if err != nil {
			return nil, err
		}
		return o.(*v1.PersistentVolumeClaim).DeepCopy(), nil
	})
}

// GetVolume returns a volume if a pod of the node refers to the volume's claim.
func (c claims) GetVolume(ctx context.Context, name string) (*v1.PersistentVolume, error) {
	r := Request{Verb: "get", Resource: "persistentvolumes", Name: name}
	return doRequest(ctx, c.c, r, func() (*v1.PersistentVolume, error) {
		o, err := c.c.s.storedObjectOrNotFoundLocked(objectKey{r.Resource, "", name})
		if err != nil {
			return nil, c.c.newNodeAuthorizerError(r.Resource, name)
		}
		volume := o.(*v1.PersistentVolume)
		claim := Request{Resource: r.Resource}
		if of := volume.Spec.ClaimRef; of != nil {
			claim.Namespace, claim.Name = of.Namespace, of.Name
		}
		if err := c.c.checkReferencedLocked(claim, claimNamesOf); err != nil {
			return nil, c.c.newNodeAuthorizerError(r.Resource, name)
		}
		return volume.DeepCopy(), nil
	})
}
