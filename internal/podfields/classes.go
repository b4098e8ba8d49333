package podfields

// classes lists the fields of each type in a pod's spec, and how a node treats them. If a pod sets a field that is not
// listed, the node rejects the pod.
//
//	name    the field has its effect, or the node rejects the pod where it cannot have it
//	-name   the field matters to schedulers or API servers only
//	~name   the node ignores the field and sends a warning event
//	!name   the node rejects the pod
//
// The fields inside a field of the last three classes are not listed.
// FIELDS.md of podsync lists the same fields with reasons.
var classes = map[string]string{
	"Affinity":              `nodeAffinity -podAffinity -podAntiAffinity`,
	"AppArmorProfile":       `type localhostProfile`,
	"Capabilities":          `add drop`,
	"ConfigMapEnvSource":    `optional`,
	"ConfigMapKeySelector":  `key optional`,
	"ConfigMapProjection":   `items optional`,
	"ConfigMapVolumeSource": `items defaultMode optional`,
	"Container": `name image command args workingDir ports envFrom env resources ~resizePolicy restartPolicy
		restartPolicyRules volumeMounts !volumeDevices livenessProbe readinessProbe startupProbe lifecycle
		terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty`,
	"ContainerPort":                   `name hostPort containerPort protocol hostIP`,
	"ContainerRestartRule":            `action exitCodes`,
	"ContainerRestartRuleOnExitCodes": `operator values`,
	"DownwardAPIProjection":           `items`,
	"DownwardAPIVolumeFile":           `path fieldRef resourceFieldRef mode`,
	"DownwardAPIVolumeSource":         `items defaultMode`,
	"EmptyDirVolumeSource":            `medium sizeLimit`,
	"EnvFromSource":                   `prefix configMapRef secretRef`,
	"EnvVar":                          `name value valueFrom`,
	"EnvVarSource":                    `fieldRef resourceFieldRef configMapKeyRef secretKeyRef fileKeyRef`,
	"EphemeralContainer":              `targetContainerName`,
	"EphemeralContainerCommon": `name image command args workingDir ports envFrom env resources ~resizePolicy restartPolicy
		restartPolicyRules volumeMounts !volumeDevices livenessProbe readinessProbe startupProbe lifecycle
		terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty`,
	"EphemeralVolumeSource":             `-volumeClaimTemplate`,
	"ExecAction":                        `command`,
	"FileKeySelector":                   `volumeName path key optional`,
	"GRPCAction":                        `port service`,
	"HTTPGetAction":                     `path port host scheme httpHeaders`,
	"HTTPHeader":                        `name value`,
	"HostAlias":                         `ip hostnames`,
	"HostPathVolumeSource":              `path type`,
	"ImageVolumeSource":                 `reference pullPolicy`,
	"KeyToPath":                         `key path mode`,
	"Lifecycle":                         `postStart preStop stopSignal`,
	"LifecycleHandler":                  `exec httpGet !tcpSocket sleep`,
	"LocalObjectReference":              `name`,
	"NodeAffinity":                      `requiredDuringSchedulingIgnoredDuringExecution -preferredDuringSchedulingIgnoredDuringExecution`,
	"NodeSelector":                      `nodeSelectorTerms`,
	"NodeSelectorRequirement":           `key operator values`,
	"NodeSelectorTerm":                  `matchExpressions matchFields`,
	"ObjectFieldSelector":               `apiVersion fieldPath`,
	"PersistentVolumeClaimVolumeSource": `claimName readOnly`,
	"PodDNSConfig":                      `nameservers searches options`,
	"PodDNSConfigOption":                `name value`,
	"PodOS":                             `name`,
	"PodReadinessGate":                  `conditionType`,
	"PodSchedulingGate":                 `name`,
	"PodSecurityContext": `seLinuxOptions !windowsOptions runAsUser runAsGroup runAsNonRoot supplementalGroups
		supplementalGroupsPolicy fsGroup sysctls -fsGroupChangePolicy seccompProfile appArmorProfile
		~seLinuxChangePolicy`,
	"PodSpec": `volumes initContainers containers ephemeralContainers restartPolicy terminationGracePeriodSeconds
		activeDeadlineSeconds dnsPolicy nodeSelector serviceAccountName -serviceAccount
		-automountServiceAccountToken nodeName hostNetwork hostPID hostIPC shareProcessNamespace
		securityContext imagePullSecrets hostname subdomain affinity -schedulerName tolerations hostAliases
		-priorityClassName -priority dnsConfig readinessGates runtimeClassName -enableServiceLinks
		-preemptionPolicy overhead -topologySpreadConstraints setHostnameAsFQDN os hostUsers schedulingGates
		!resourceClaims resources hostnameOverride -schedulingGroup`,
	"Probe": `initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold
		terminationGracePeriodSeconds`,
	"ProbeHandler":          `exec httpGet tcpSocket grpc`,
	"ProjectedVolumeSource": `sources defaultMode`,
	"ResourceFieldSelector": `containerName resource divisor`,
	"ResourceRequirements":  `limits requests !claims`,
	"SELinuxOptions":        `user role type level`,
	"SeccompProfile":        `type localhostProfile`,
	"SecretEnvSource":       `optional`,
	"SecretKeySelector":     `key optional`,
	"SecretProjection":      `items optional`,
	"SecretVolumeSource":    `secretName items defaultMode optional`,
	"SecurityContext": `capabilities privileged seLinuxOptions !windowsOptions runAsUser runAsGroup runAsNonRoot
		readOnlyRootFilesystem allowPrivilegeEscalation procMount seccompProfile appArmorProfile`,
	"ServiceAccountTokenProjection": `audience expirationSeconds path`,
	"SleepAction":                   `seconds`,
	"Sysctl":                        `name value`,
	"TCPSocketAction":               `port host`,
	"Toleration":                    `key operator value effect tolerationSeconds`,
	"Volume":                        `name`,
	"VolumeMount":                   `name readOnly recursiveReadOnly mountPath subPath mountPropagation subPathExpr`,
	"VolumeProjection":              `secret downwardAPI configMap serviceAccountToken !clusterTrustBundle !podCertificate`,
	"VolumeSource": `hostPath emptyDir !gcePersistentDisk !awsElasticBlockStore !gitRepo secret !nfs !iscsi !glusterfs
		persistentVolumeClaim !rbd !flexVolume !cinder !cephfs !flocker downwardAPI !fc !azureFile configMap
		!vsphereVolume !quobyte !azureDisk !photonPersistentDisk projected !portworxVolume !scaleIO
		!storageos !csi ephemeral image`,
}
