package cluster

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers"
	"github.com/podkeel/podkeel/podworkers/lifecycle"
	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/cluster/internal/objects"
)

// ReasonAPIReference is the reason for refusing a static pod that refers to objects of the API server. A node whose
// Config.Node.Volumes.Objects is set admits such a static pod.
const ReasonAPIReference = "StaticPodAPIReference"

// buildMissingObjectSources creates the sources of the API objects that pods refer to: ConfigMaps and Secrets, Services,
// RuntimeClasses, service account tokens and volume claims. It creates only sources that the configuration lacks,
// and adds their loops to the node. If it creates the source of ConfigMaps and Secrets, it also installs
// admitStaticPod as the first admission handler. If the configuration has no volume manager, it calls
// Config.Volumes to create one.
func (c *Node) buildMissingObjectSources() (err error) {
	n := &c.config.Node
	config := objects.Config{
		Objects: c.config.Server.Objects(), Contact: c.contact, Clock: n.Clock, Jitter: n.Jitter, Log: n.Log,
		Changed: func(uid types.UID) { c.node.RequestSync(uid) },
	}
	if n.Volumes.Objects == nil {
		if c.objects, err = objects.New(config); err != nil {
			return err
		}
		n.Scheduling.Admit = append([]syncloop.PodAdmitHandler{admitStaticPod}, n.Scheduling.Admit...)
		n.Volumes.Objects, c.followed.pods, c.loops = c.objects, map[types.UID]uint64{}, append(c.loops, c.objects.Run)
	}
	if n.Containers.Services == nil {
		services, err := objects.NewServices(config)
		if err != nil {
			return err
		}
		n.Containers.Services, c.loops = services, append(c.loops, services.Run)
	}
	if n.Containers.RuntimeClass == nil {
		classes, err := objects.NewRuntimeClasses(config, func() { c.node.Scheduling().Recheck() })
		if err != nil {
			return err
		}
		n.Containers.RuntimeClass, c.loops = classes.Handler, append(c.loops, classes.Run)
	}
	if n.Volumes.Tokens == nil {
		c.tokens, err = objects.NewTokens(objects.TokensConfig{
			Tokens: c.config.Server.Tokens(), Contact: c.contact, Changed: config.Changed, Clock: n.Clock, Jitter: n.Jitter,
		})
		if err != nil {
			return err
		}
		n.Volumes.Tokens, c.loops = c.tokens, append(c.loops, c.tokens.Run)
	}
	if n.Volumes.Claims == nil {
		if c.claims, err = objects.NewClaims(objects.ClaimsConfig{Server: c.config.Server, NodeName: c.config.nodeName(), Contact: c.contact}); err != nil {
			return err
		}
		n.Volumes.Claims = c.claims
	}
	if n.Volumes.Manager == nil && c.config.Volumes != nil {
		n.Volumes.Manager, n.Volumes.Files, err = c.config.Volumes(*n)
	}
	return err
}

// installPodHooks sets the hooks by which a pod's phases start and stop the following of its objects, tokens
// and claims, and cause a check of the mirror pods. Each hook then calls the user's hook.
func (c *Node) installPodHooks(userHooks podworkers.Hooks) {
	h := &c.config.Node.Hooks.Workers
	h.Syncing = func(pod *v1.Pod, incarnation uint64) {
		c.followObjects(pod, incarnation)
		if userHooks.Syncing != nil {
			userHooks.Syncing(pod, incarnation)
		}
	}
	h.Phase = func(uid types.UID, incarnation uint64, phase lifecycle.Phase) {
		c.mirrors.Recheck()
		if phase == lifecycle.Finished {
			c.releaseObjects(uid, incarnation)
			c.forgetTokens(uid)
			if c.claims != nil {
				c.claims.Forget(uid) // Another pod may use its volumes now.
			}
		}
		if userHooks.Phase != nil {
			userHooks.Phase(uid, incarnation, phase)
		}
	}
	h.Forgotten = func(uid types.UID) {
		c.forgetTokens(uid)
		if c.claims != nil {
			c.claims.Forget(uid)
		}
		if userHooks.Forgotten != nil {
			userHooks.Forgotten(uid)
		}
	}
}

// admitStaticPod refuses static pods that refer to objects of the API server, as the kubelet does: the node may not
// read such objects, and an API server refuses the mirror pod. buildMissingObjectSources installs it only if the objects come from
// the API server, which means that Config.Node.Volumes.Objects was nil.
var admitStaticPod = syncloop.PodAdmitAloneFunc(func(attrs syncloop.PodAdmitAttributes) syncloop.PodAdmitResult {
	if named := objects.ReferenceNames(attrs.Pod); podmanager.IsStaticPod(attrs.Pod) && len(named) > 0 {
		return syncloop.PodAdmitResult{Reason: ReasonAPIReference, Message: "a static pod must not refer to objects of the API server: " + strings.Join(named, ", ")}
	}
	return syncloop.PodAdmitResult{Admit: true}
})

// forgetTokens stops the renewal of a pod's service account tokens, if the node renews tokens.
func (c *Node) forgetTokens(uid types.UID) {
	if c.tokens != nil {
		c.tokens.Forget(uid)
	}
}

// followObjects follows the ConfigMaps and Secrets of a pod, and records the incarnation: a pod that is created
// again with the same UID gets the next number. It does nothing for static pods, which may not refer to such
// objects.
func (c *Node) followObjects(pod *v1.Pod, incarnation uint64) {
	if c.objects == nil || podmanager.IsStaticPod(pod) {
		return
	}
	c.followed.Lock()
	defer c.followed.Unlock()
	c.followed.pods[pod.UID] = incarnation
	c.objects.FollowReferences(pod)
}

// releaseObjects stops following the objects of a finished pod, unless followObjects was called for a newer
// incarnation of the pod (a pod created again with the same UID).
func (c *Node) releaseObjects(uid types.UID, incarnation uint64) {
	c.followed.Lock()
	defer c.followed.Unlock()
	if kept, ok := c.followed.pods[uid]; ok && kept == incarnation {
		delete(c.followed.pods, uid)
		c.objects.Release(uid)
	}
}
