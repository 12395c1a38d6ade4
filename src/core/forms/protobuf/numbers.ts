/**
 * Protobuf field numbers of every built-in type: facts of the wire, one line per OpenAPI definition.
 *
 *     <definition> <json name>=<number>[.<number>...][flag] ...
 *
 * A dotted number is a path: Go embeds the inner struct in JSON (its fields appear in the outer object)
 * but not in protobuf, where it is a message of its own. Flags state what Go's JSON does with a zero:
 * `*` a pointer, written whenever it is set; `!` always written; none: left out when it is zero.
 * decode.test.ts checks the table against the encoded objects of the upstream test data.
 */
// long: one table, no logic
export const fieldNumbers = `io.k8s.api.admissionregistration.v1.ApplyConfiguration expression=1
io.k8s.api.admissionregistration.v1.AuditAnnotation key=1! valueExpression=2!
io.k8s.api.admissionregistration.v1.ExpressionWarning fieldRef=2! warning=3!
io.k8s.api.admissionregistration.v1.JSONPatch expression=1
io.k8s.api.admissionregistration.v1.MatchCondition name=1! expression=2!
io.k8s.api.admissionregistration.v1.MatchResources namespaceSelector=1* objectSelector=2* resourceRules=3 excludeResourceRules=4 matchPolicy=7*
io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicy metadata=1 spec=2
io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicyBinding metadata=1 spec=2
io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicyBindingList metadata=1 items=2!
io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicyBindingSpec policyName=1 paramRef=2* matchResources=3*
io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicyList metadata=1 items=2!
io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicySpec paramKind=1* matchConstraints=2* variables=3 mutations=4 failurePolicy=5* matchConditions=6 reinvocationPolicy=7
io.k8s.api.admissionregistration.v1.MutatingWebhook name=1! clientConfig=2! rules=3 failurePolicy=4* matchPolicy=9* namespaceSelector=5* objectSelector=11* sideEffects=6* timeoutSeconds=7* admissionReviewVersions=8! reinvocationPolicy=10* matchConditions=12
io.k8s.api.admissionregistration.v1.MutatingWebhookConfiguration metadata=1 webhooks=2
io.k8s.api.admissionregistration.v1.MutatingWebhookConfigurationList metadata=1 items=2!
io.k8s.api.admissionregistration.v1.Mutation patchType=2! applyConfiguration=3* jsonPatch=4*
io.k8s.api.admissionregistration.v1.NamedRuleWithOperations resourceNames=1 operations=2.1 apiGroups=2.2.1 apiVersions=2.2.2 resources=2.2.3 scope=2.2.4*
io.k8s.api.admissionregistration.v1.ParamKind apiVersion=1 kind=2
io.k8s.api.admissionregistration.v1.ParamRef name=1 namespace=2 selector=3* parameterNotFoundAction=4*
io.k8s.api.admissionregistration.v1.RuleWithOperations operations=1 apiGroups=2.1 apiVersions=2.2 resources=2.3 scope=2.4*
io.k8s.api.admissionregistration.v1.ServiceReference namespace=1! name=2! path=3* port=4*
io.k8s.api.admissionregistration.v1.TypeChecking expressionWarnings=1
io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy metadata=1 spec=2 status=3
io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBinding metadata=1 spec=2
io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBindingList metadata=1 items=2!
io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec policyName=1 paramRef=2* matchResources=3* validationActions=4
io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyList metadata=1 items=2!
io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicySpec paramKind=1* matchConstraints=2* validations=3 failurePolicy=4* auditAnnotations=5 matchConditions=6 variables=7
io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyStatus observedGeneration=1 typeChecking=2* conditions=3
io.k8s.api.admissionregistration.v1.ValidatingWebhook name=1! clientConfig=2! rules=3 failurePolicy=4* matchPolicy=9* namespaceSelector=5* objectSelector=10* sideEffects=6* timeoutSeconds=7* admissionReviewVersions=8! matchConditions=11
io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration metadata=1 webhooks=2
io.k8s.api.admissionregistration.v1.ValidatingWebhookConfigurationList metadata=1 items=2!
io.k8s.api.admissionregistration.v1.Validation expression=1! message=2 reason=3* messageExpression=4
io.k8s.api.admissionregistration.v1.Variable name=1! expression=2!
io.k8s.api.admissionregistration.v1.WebhookClientConfig url=3* service=1* caBundle=2
io.k8s.api.admissionregistration.v1alpha1.ApplyConfiguration expression=1
io.k8s.api.admissionregistration.v1alpha1.JSONPatch expression=1
io.k8s.api.admissionregistration.v1alpha1.MatchCondition name=1! expression=2!
io.k8s.api.admissionregistration.v1alpha1.MatchResources namespaceSelector=1* objectSelector=2* resourceRules=3 excludeResourceRules=4 matchPolicy=7*
io.k8s.api.admissionregistration.v1alpha1.MutatingAdmissionPolicy metadata=1 spec=2
io.k8s.api.admissionregistration.v1alpha1.MutatingAdmissionPolicyBinding metadata=1 spec=2
io.k8s.api.admissionregistration.v1alpha1.MutatingAdmissionPolicyBindingList metadata=1 items=2!
io.k8s.api.admissionregistration.v1alpha1.MutatingAdmissionPolicyBindingSpec policyName=1 paramRef=2* matchResources=3*
io.k8s.api.admissionregistration.v1alpha1.MutatingAdmissionPolicyList metadata=1 items=2!
io.k8s.api.admissionregistration.v1alpha1.MutatingAdmissionPolicySpec paramKind=1* matchConstraints=2* variables=3 mutations=4 failurePolicy=5* matchConditions=6 reinvocationPolicy=7
io.k8s.api.admissionregistration.v1alpha1.Mutation patchType=2! applyConfiguration=3* jsonPatch=4*
io.k8s.api.admissionregistration.v1alpha1.NamedRuleWithOperations resourceNames=1 operations=2.1 apiGroups=2.2.1 apiVersions=2.2.2 resources=2.2.3 scope=2.2.4*
io.k8s.api.admissionregistration.v1alpha1.ParamKind apiVersion=1 kind=2
io.k8s.api.admissionregistration.v1alpha1.ParamRef name=1 namespace=2 selector=3* parameterNotFoundAction=4*
io.k8s.api.admissionregistration.v1alpha1.Variable name=1! expression=2!
io.k8s.api.admissionregistration.v1beta1.ApplyConfiguration expression=1
io.k8s.api.admissionregistration.v1beta1.JSONPatch expression=1
io.k8s.api.admissionregistration.v1beta1.MatchCondition name=1! expression=2!
io.k8s.api.admissionregistration.v1beta1.MatchResources namespaceSelector=1* objectSelector=2* resourceRules=3 excludeResourceRules=4 matchPolicy=7*
io.k8s.api.admissionregistration.v1beta1.MutatingAdmissionPolicy metadata=1 spec=2
io.k8s.api.admissionregistration.v1beta1.MutatingAdmissionPolicyBinding metadata=1 spec=2
io.k8s.api.admissionregistration.v1beta1.MutatingAdmissionPolicyBindingList metadata=1 items=2!
io.k8s.api.admissionregistration.v1beta1.MutatingAdmissionPolicyBindingSpec policyName=1 paramRef=2* matchResources=3*
io.k8s.api.admissionregistration.v1beta1.MutatingAdmissionPolicyList metadata=1 items=2!
io.k8s.api.admissionregistration.v1beta1.MutatingAdmissionPolicySpec paramKind=1* matchConstraints=2* variables=3 mutations=4 failurePolicy=5* matchConditions=6 reinvocationPolicy=7
io.k8s.api.admissionregistration.v1beta1.Mutation patchType=2! applyConfiguration=3* jsonPatch=4*
io.k8s.api.admissionregistration.v1beta1.NamedRuleWithOperations resourceNames=1 operations=2.1 apiGroups=2.2.1 apiVersions=2.2.2 resources=2.2.3 scope=2.2.4*
io.k8s.api.admissionregistration.v1beta1.ParamKind apiVersion=1 kind=2
io.k8s.api.admissionregistration.v1beta1.ParamRef name=1 namespace=2 selector=3* parameterNotFoundAction=4*
io.k8s.api.admissionregistration.v1beta1.Variable name=1! expression=2!
io.k8s.api.apiserverinternal.v1alpha1.ServerStorageVersion apiServerID=1 encodingVersion=2 decodableVersions=3 servedVersions=4
io.k8s.api.apiserverinternal.v1alpha1.StorageVersion metadata=1 spec=2! status=3!
io.k8s.api.apiserverinternal.v1alpha1.StorageVersionCondition type=1! status=2! observedGeneration=3 lastTransitionTime=4 reason=5! message=6
io.k8s.api.apiserverinternal.v1alpha1.StorageVersionList metadata=1 items=2!
io.k8s.api.apiserverinternal.v1alpha1.StorageVersionStatus storageVersions=1 commonEncodingVersion=2* conditions=3
io.k8s.api.apps.v1.ControllerRevision metadata=1 data=2 revision=3!
io.k8s.api.apps.v1.ControllerRevisionList metadata=1 items=2!
io.k8s.api.apps.v1.DaemonSet metadata=1 spec=2 status=3
io.k8s.api.apps.v1.DaemonSetCondition type=1! status=2! lastTransitionTime=3 reason=4 message=5
io.k8s.api.apps.v1.DaemonSetList metadata=1 items=2!
io.k8s.api.apps.v1.DaemonSetSpec selector=1* template=2! updateStrategy=3 minReadySeconds=4 revisionHistoryLimit=6*
io.k8s.api.apps.v1.DaemonSetStatus currentNumberScheduled=1! numberMisscheduled=2! desiredNumberScheduled=3! numberReady=4! observedGeneration=5 updatedNumberScheduled=6 numberAvailable=7 numberUnavailable=8 collisionCount=9* conditions=10
io.k8s.api.apps.v1.DaemonSetUpdateStrategy type=1 rollingUpdate=2*
io.k8s.api.apps.v1.Deployment metadata=1 spec=2 status=3
io.k8s.api.apps.v1.DeploymentCondition type=1! status=2! lastUpdateTime=6 lastTransitionTime=7 reason=4 message=5
io.k8s.api.apps.v1.DeploymentList metadata=1 items=2!
io.k8s.api.apps.v1.DeploymentSpec replicas=1* selector=2* template=3! strategy=4 minReadySeconds=5 revisionHistoryLimit=6* paused=7 progressDeadlineSeconds=9*
io.k8s.api.apps.v1.DeploymentStatus observedGeneration=1 replicas=2 updatedReplicas=3 readyReplicas=7 availableReplicas=4 unavailableReplicas=5 terminatingReplicas=9* conditions=6 collisionCount=8*
io.k8s.api.apps.v1.DeploymentStrategy type=1 rollingUpdate=2*
io.k8s.api.apps.v1.ReplicaSet metadata=1 spec=2 status=3
io.k8s.api.apps.v1.ReplicaSetCondition type=1! status=2! lastTransitionTime=3 reason=4 message=5
io.k8s.api.apps.v1.ReplicaSetList metadata=1 items=2!
io.k8s.api.apps.v1.ReplicaSetSpec replicas=1* minReadySeconds=4 selector=2* template=3
io.k8s.api.apps.v1.ReplicaSetStatus replicas=1! fullyLabeledReplicas=2 readyReplicas=4 availableReplicas=5 terminatingReplicas=7* observedGeneration=3 conditions=6
io.k8s.api.apps.v1.RollingUpdateDaemonSet maxUnavailable=1* maxSurge=2*
io.k8s.api.apps.v1.RollingUpdateDeployment maxUnavailable=1* maxSurge=2*
io.k8s.api.apps.v1.RollingUpdateStatefulSetStrategy partition=1* maxUnavailable=2*
io.k8s.api.apps.v1.StatefulSet metadata=1 spec=2 status=3
io.k8s.api.apps.v1.StatefulSetCondition type=1! status=2! lastTransitionTime=3 reason=4 message=5
io.k8s.api.apps.v1.StatefulSetList metadata=1 items=2!
io.k8s.api.apps.v1.StatefulSetOrdinals start=1!
io.k8s.api.apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy whenDeleted=1 whenScaled=2
io.k8s.api.apps.v1.StatefulSetSpec replicas=1* selector=2* template=3! volumeClaimTemplates=4 serviceName=5! podManagementPolicy=6 updateStrategy=7 revisionHistoryLimit=8* minReadySeconds=9 persistentVolumeClaimRetentionPolicy=10* ordinals=11*
io.k8s.api.apps.v1.StatefulSetStatus observedGeneration=1 replicas=2! readyReplicas=3 currentReplicas=4 updatedReplicas=5 currentRevision=6 updateRevision=7 collisionCount=9* conditions=10 availableReplicas=11!
io.k8s.api.apps.v1.StatefulSetUpdateStrategy type=1 rollingUpdate=2*
io.k8s.api.authentication.v1.BoundObjectReference kind=1 apiVersion=2 name=3 uid=4
io.k8s.api.authentication.v1.SelfSubjectReview metadata=1 status=2
io.k8s.api.authentication.v1.SelfSubjectReviewStatus userInfo=1
io.k8s.api.authentication.v1.TokenRequest metadata=1 spec=2! status=3
io.k8s.api.authentication.v1.TokenRequestSpec audiences=1! expirationSeconds=4* boundObjectRef=3*
io.k8s.api.authentication.v1.TokenRequestStatus token=1! expirationTimestamp=2!
io.k8s.api.authentication.v1.TokenReview metadata=1 spec=2! status=3
io.k8s.api.authentication.v1.TokenReviewSpec token=1 audiences=2
io.k8s.api.authentication.v1.TokenReviewStatus authenticated=1 user=2 audiences=4 error=3
io.k8s.api.authentication.v1.UserInfo username=1 uid=2 groups=3 extra=4
io.k8s.api.authorization.v1.FieldSelectorAttributes rawSelector=1 requirements=2
io.k8s.api.authorization.v1.LabelSelectorAttributes rawSelector=1 requirements=2
io.k8s.api.authorization.v1.LocalSubjectAccessReview metadata=1 spec=2! status=3
io.k8s.api.authorization.v1.NonResourceAttributes path=1 verb=2
io.k8s.api.authorization.v1.NonResourceRule verbs=1! nonResourceURLs=2
io.k8s.api.authorization.v1.ResourceAttributes namespace=1 verb=2 group=3 version=4 resource=5 subresource=6 name=7 fieldSelector=8* labelSelector=9*
io.k8s.api.authorization.v1.ResourceRule verbs=1! apiGroups=2 resources=3 resourceNames=4
io.k8s.api.authorization.v1.SelfSubjectAccessReview metadata=1 spec=2! status=3
io.k8s.api.authorization.v1.SelfSubjectAccessReviewSpec resourceAttributes=1* nonResourceAttributes=2*
io.k8s.api.authorization.v1.SelfSubjectRulesReview metadata=1 spec=2! status=3
io.k8s.api.authorization.v1.SelfSubjectRulesReviewSpec namespace=1
io.k8s.api.authorization.v1.SubjectAccessReview metadata=1 spec=2! status=3
io.k8s.api.authorization.v1.SubjectAccessReviewSpec resourceAttributes=1* nonResourceAttributes=2* user=3 groups=4 extra=5 uid=6
io.k8s.api.authorization.v1.SubjectAccessReviewStatus allowed=1! denied=4 reason=2 evaluationError=3
io.k8s.api.authorization.v1.SubjectRulesReviewStatus resourceRules=1! nonResourceRules=2! incomplete=3! evaluationError=4
io.k8s.api.autoscaling.v1.CrossVersionObjectReference kind=1! name=2! apiVersion=3
io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler metadata=1 spec=2 status=3
io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerList metadata=1 items=2!
io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerSpec scaleTargetRef=1! minReplicas=2* maxReplicas=3! targetCPUUtilizationPercentage=4*
io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerStatus observedGeneration=1* lastScaleTime=2* currentReplicas=3! desiredReplicas=4! currentCPUUtilizationPercentage=5*
io.k8s.api.autoscaling.v1.Scale metadata=1 spec=2 status=3
io.k8s.api.autoscaling.v1.ScaleSpec replicas=1
io.k8s.api.autoscaling.v1.ScaleStatus replicas=1! selector=2
io.k8s.api.autoscaling.v2.ContainerResourceMetricSource name=1! target=2! container=3!
io.k8s.api.autoscaling.v2.ContainerResourceMetricStatus name=1! current=2! container=3!
io.k8s.api.autoscaling.v2.CrossVersionObjectReference kind=1! name=2! apiVersion=3
io.k8s.api.autoscaling.v2.ExternalMetricSource metric=1! target=2!
io.k8s.api.autoscaling.v2.ExternalMetricStatus metric=1! current=2!
io.k8s.api.autoscaling.v2.HPAScalingPolicy type=1! value=2! periodSeconds=3!
io.k8s.api.autoscaling.v2.HPAScalingRules stabilizationWindowSeconds=3* selectPolicy=1* policies=2 tolerance=4*
io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler metadata=1 spec=2 status=3
io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior scaleUp=1* scaleDown=2*
io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerCondition type=1! status=2! lastTransitionTime=3 reason=4 message=5
io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerList metadata=1 items=2!
io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerSpec scaleTargetRef=1! minReplicas=2* maxReplicas=3! metrics=4 behavior=5*
io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus observedGeneration=1* lastScaleTime=2* currentReplicas=3 desiredReplicas=4! currentMetrics=5! conditions=6
io.k8s.api.autoscaling.v2.MetricIdentifier name=1! selector=2*
io.k8s.api.autoscaling.v2.MetricSpec type=1! object=2* pods=3* resource=4* containerResource=7* external=5*
io.k8s.api.autoscaling.v2.MetricStatus type=1! object=2* pods=3* resource=4* containerResource=7* external=5*
io.k8s.api.autoscaling.v2.MetricTarget type=1! value=2* averageValue=3* averageUtilization=4*
io.k8s.api.autoscaling.v2.MetricValueStatus value=1* averageValue=2* averageUtilization=3*
io.k8s.api.autoscaling.v2.ObjectMetricSource describedObject=1! target=2! metric=3!
io.k8s.api.autoscaling.v2.ObjectMetricStatus metric=1! current=2! describedObject=3!
io.k8s.api.autoscaling.v2.PodsMetricSource metric=1! target=2!
io.k8s.api.autoscaling.v2.PodsMetricStatus metric=1! current=2!
io.k8s.api.autoscaling.v2.ResourceMetricSource name=1! target=2!
io.k8s.api.autoscaling.v2.ResourceMetricStatus name=1! current=2!
io.k8s.api.batch.v1.CronJob metadata=1 spec=2 status=3
io.k8s.api.batch.v1.CronJobList metadata=1 items=2!
io.k8s.api.batch.v1.CronJobSpec schedule=1! timeZone=8* startingDeadlineSeconds=2* concurrencyPolicy=3 suspend=4* jobTemplate=5! successfulJobsHistoryLimit=6* failedJobsHistoryLimit=7*
io.k8s.api.batch.v1.CronJobStatus active=1 lastScheduleTime=4* lastSuccessfulTime=5*
io.k8s.api.batch.v1.Job metadata=1 spec=2 status=3
io.k8s.api.batch.v1.JobCondition type=1! status=2! lastProbeTime=3 lastTransitionTime=4 reason=5 message=6
io.k8s.api.batch.v1.JobList metadata=1 items=2!
io.k8s.api.batch.v1.JobSpec parallelism=1* completions=2* activeDeadlineSeconds=3* podFailurePolicy=11* successPolicy=16* backoffLimit=7* backoffLimitPerIndex=12* maxFailedIndexes=13* selector=4* manualSelector=5* template=6! ttlSecondsAfterFinished=8* completionMode=9* suspend=10* podReplacementPolicy=14* managedBy=15*
io.k8s.api.batch.v1.JobStatus conditions=1 startTime=2* completionTime=3* active=4 succeeded=5 failed=6 terminating=11* completedIndexes=7 failedIndexes=10* uncountedTerminatedPods=8* ready=9*
io.k8s.api.batch.v1.JobTemplateSpec metadata=1 spec=2
io.k8s.api.batch.v1.PodFailurePolicy rules=1!
io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement containerName=1* operator=2! values=3!
io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern type=1! status=2!
io.k8s.api.batch.v1.PodFailurePolicyRule action=1! onExitCodes=2* onPodConditions=3
io.k8s.api.batch.v1.SuccessPolicy rules=1!
io.k8s.api.batch.v1.SuccessPolicyRule succeededIndexes=1* succeededCount=2*
io.k8s.api.batch.v1.UncountedTerminatedPods succeeded=1 failed=2
io.k8s.api.certificates.v1.CertificateSigningRequest metadata=1 spec=2! status=3
io.k8s.api.certificates.v1.CertificateSigningRequestCondition type=1! status=6! reason=2 message=3 lastUpdateTime=4 lastTransitionTime=5
io.k8s.api.certificates.v1.CertificateSigningRequestList metadata=1 items=2!
io.k8s.api.certificates.v1.CertificateSigningRequestSpec request=1! signerName=7! expirationSeconds=8* usages=5 username=2 uid=3 groups=4 extra=6
io.k8s.api.certificates.v1.CertificateSigningRequestStatus conditions=1 certificate=2
io.k8s.api.certificates.v1alpha1.ClusterTrustBundle metadata=1 spec=2!
io.k8s.api.certificates.v1alpha1.ClusterTrustBundleList metadata=1 items=2!
io.k8s.api.certificates.v1alpha1.ClusterTrustBundleSpec signerName=1 trustBundle=2!
io.k8s.api.certificates.v1beta1.ClusterTrustBundle metadata=1 spec=2!
io.k8s.api.certificates.v1beta1.ClusterTrustBundleList metadata=1 items=2!
io.k8s.api.certificates.v1beta1.ClusterTrustBundleSpec signerName=1 trustBundle=2!
io.k8s.api.certificates.v1beta1.PodCertificateRequest metadata=1 spec=2! status=3
io.k8s.api.certificates.v1beta1.PodCertificateRequestList metadata=1 items=2!
io.k8s.api.certificates.v1beta1.PodCertificateRequestSpec signerName=1! podName=2! podUID=3! serviceAccountName=4! serviceAccountUID=5! nodeName=6! nodeUID=7! maxExpirationSeconds=8* pkixPublicKey=9! proofOfPossession=10! stubPKCS10Request=12! unverifiedUserAnnotations=11
io.k8s.api.certificates.v1beta1.PodCertificateRequestStatus conditions=1 certificateChain=2 notBefore=4* beginRefreshAt=5* notAfter=6*
io.k8s.api.coordination.v1.Lease metadata=1 spec=2
io.k8s.api.coordination.v1.LeaseList metadata=1 items=2!
io.k8s.api.coordination.v1.LeaseSpec holderIdentity=1* leaseDurationSeconds=2* acquireTime=3* renewTime=4* leaseTransitions=5* strategy=6* preferredHolder=7*
io.k8s.api.coordination.v1alpha2.LeaseCandidate metadata=1 spec=2
io.k8s.api.coordination.v1alpha2.LeaseCandidateList metadata=1 items=2!
io.k8s.api.coordination.v1alpha2.LeaseCandidateSpec leaseName=1! pingTime=2* renewTime=3* binaryVersion=4! emulationVersion=5 strategy=6
io.k8s.api.coordination.v1beta1.LeaseCandidate metadata=1 spec=2
io.k8s.api.coordination.v1beta1.LeaseCandidateList metadata=1 items=2!
io.k8s.api.coordination.v1beta1.LeaseCandidateSpec leaseName=1! pingTime=2* renewTime=3* binaryVersion=4! emulationVersion=5 strategy=6
io.k8s.api.core.v1.AWSElasticBlockStoreVolumeSource volumeID=1! fsType=2 partition=3 readOnly=4
io.k8s.api.core.v1.Affinity nodeAffinity=1* podAffinity=2* podAntiAffinity=3*
io.k8s.api.core.v1.AppArmorProfile type=1! localhostProfile=2*
io.k8s.api.core.v1.AttachedVolume name=1! devicePath=2!
io.k8s.api.core.v1.AzureDiskVolumeSource diskName=1! diskURI=2! cachingMode=3* fsType=4* readOnly=5* kind=6*
io.k8s.api.core.v1.AzureFilePersistentVolumeSource secretName=1! shareName=2! readOnly=3 secretNamespace=4*
io.k8s.api.core.v1.AzureFileVolumeSource secretName=1! shareName=2! readOnly=3
io.k8s.api.core.v1.Binding metadata=1 target=2!
io.k8s.api.core.v1.CSIPersistentVolumeSource driver=1! volumeHandle=2! readOnly=3 fsType=4 volumeAttributes=5 controllerPublishSecretRef=6* nodeStageSecretRef=7* nodePublishSecretRef=8* controllerExpandSecretRef=9* nodeExpandSecretRef=10*
io.k8s.api.core.v1.CSIVolumeSource driver=1! readOnly=2* fsType=3* volumeAttributes=4 nodePublishSecretRef=5*
io.k8s.api.core.v1.Capabilities add=1 drop=2
io.k8s.api.core.v1.CephFSPersistentVolumeSource monitors=1! path=2 user=3 secretFile=4 secretRef=5* readOnly=6
io.k8s.api.core.v1.CephFSVolumeSource monitors=1! path=2 user=3 secretFile=4 secretRef=5* readOnly=6
io.k8s.api.core.v1.CinderPersistentVolumeSource volumeID=1! fsType=2 readOnly=3 secretRef=4*
io.k8s.api.core.v1.CinderVolumeSource volumeID=1! fsType=2 readOnly=3 secretRef=4*
io.k8s.api.core.v1.ClientIPConfig timeoutSeconds=1*
io.k8s.api.core.v1.ClusterTrustBundleProjection name=1* signerName=2* labelSelector=3* optional=5* path=4!
io.k8s.api.core.v1.ComponentCondition type=1! status=2! message=3 error=4
io.k8s.api.core.v1.ComponentStatus metadata=1 conditions=2
io.k8s.api.core.v1.ComponentStatusList metadata=1 items=2!
io.k8s.api.core.v1.ConfigMap metadata=1 immutable=4* data=2 binaryData=3
io.k8s.api.core.v1.ConfigMapEnvSource name=1.1 optional=2*
io.k8s.api.core.v1.ConfigMapKeySelector name=1.1 key=2! optional=3*
io.k8s.api.core.v1.ConfigMapList metadata=1 items=2!
io.k8s.api.core.v1.ConfigMapNodeConfigSource namespace=1! name=2! uid=3 resourceVersion=4 kubeletConfigKey=5!
io.k8s.api.core.v1.ConfigMapProjection name=1.1 items=2 optional=4*
io.k8s.api.core.v1.ConfigMapVolumeSource name=1.1 items=2 defaultMode=3* optional=4*
io.k8s.api.core.v1.Container name=1! image=2 command=3 args=4 workingDir=5 ports=6 envFrom=19 env=7 resources=8 resizePolicy=23 restartPolicy=24* restartPolicyRules=25 volumeMounts=9 volumeDevices=21 livenessProbe=10* readinessProbe=11* startupProbe=22* lifecycle=12* terminationMessagePath=13 terminationMessagePolicy=20 imagePullPolicy=14 securityContext=15* stdin=16 stdinOnce=17 tty=18
io.k8s.api.core.v1.ContainerExtendedResourceRequest containerName=1! resourceName=2! requestName=3!
io.k8s.api.core.v1.ContainerImage names=1! sizeBytes=2
io.k8s.api.core.v1.ContainerPort name=1 hostPort=2 containerPort=3! protocol=4 hostIP=5
io.k8s.api.core.v1.ContainerResizePolicy resourceName=1! restartPolicy=2!
io.k8s.api.core.v1.ContainerRestartRule action=1 exitCodes=2*
io.k8s.api.core.v1.ContainerRestartRuleOnExitCodes operator=1 values=2
io.k8s.api.core.v1.ContainerState waiting=1* running=2* terminated=3*
io.k8s.api.core.v1.ContainerStateRunning startedAt=1
io.k8s.api.core.v1.ContainerStateTerminated exitCode=1! signal=2 reason=3 message=4 startedAt=5 finishedAt=6 containerID=7
io.k8s.api.core.v1.ContainerStateWaiting reason=1 message=2
io.k8s.api.core.v1.ContainerStatus name=1! state=2 lastState=3 ready=4! restartCount=5! image=6! imageID=7! containerID=8 started=9* allocatedResources=10 resources=11* volumeMounts=12 user=13* allocatedResourcesStatus=14 stopSignal=15*
io.k8s.api.core.v1.ContainerUser linux=1*
io.k8s.api.core.v1.DaemonEndpoint Port=1!
io.k8s.api.core.v1.DownwardAPIProjection items=1
io.k8s.api.core.v1.DownwardAPIVolumeFile path=1! fieldRef=2* resourceFieldRef=3* mode=4*
io.k8s.api.core.v1.DownwardAPIVolumeSource items=1 defaultMode=2*
io.k8s.api.core.v1.EmptyDirVolumeSource medium=1 sizeLimit=2*
io.k8s.api.core.v1.EndpointAddress ip=1! hostname=3 nodeName=4* targetRef=2*
io.k8s.api.core.v1.EndpointPort name=1 port=2! protocol=3 appProtocol=4*
io.k8s.api.core.v1.EndpointSubset addresses=1 notReadyAddresses=2 ports=3
io.k8s.api.core.v1.Endpoints metadata=1 subsets=2
io.k8s.api.core.v1.EndpointsList metadata=1 items=2!
io.k8s.api.core.v1.EnvFromSource prefix=1 configMapRef=2* secretRef=3*
io.k8s.api.core.v1.EnvVar name=1! value=2 valueFrom=3*
io.k8s.api.core.v1.EnvVarSource fieldRef=1* resourceFieldRef=2* configMapKeyRef=3* secretKeyRef=4* fileKeyRef=5*
io.k8s.api.core.v1.EphemeralContainer name=1.1! image=1.2 command=1.3 args=1.4 workingDir=1.5 ports=1.6 envFrom=1.19 env=1.7 resources=1.8 resizePolicy=1.23 restartPolicy=1.24* restartPolicyRules=1.25 volumeMounts=1.9 volumeDevices=1.21 livenessProbe=1.10* readinessProbe=1.11* startupProbe=1.22* lifecycle=1.12* terminationMessagePath=1.13 terminationMessagePolicy=1.20 imagePullPolicy=1.14 securityContext=1.15* stdin=1.16 stdinOnce=1.17 tty=1.18 targetContainerName=2
io.k8s.api.core.v1.EphemeralVolumeSource volumeClaimTemplate=1*
io.k8s.api.core.v1.Event metadata=1! involvedObject=2! reason=3 message=4 source=5 firstTimestamp=6 lastTimestamp=7 count=8 type=9 eventTime=10 series=11* action=12 related=13* reportingComponent=14! reportingInstance=15!
io.k8s.api.core.v1.EventList metadata=1 items=2!
io.k8s.api.core.v1.EventSeries count=1 lastObservedTime=2
io.k8s.api.core.v1.EventSource component=1 host=2
io.k8s.api.core.v1.ExecAction command=1
io.k8s.api.core.v1.FCVolumeSource targetWWNs=1 lun=2* fsType=3 readOnly=4 wwids=5
io.k8s.api.core.v1.FileKeySelector volumeName=1! path=2! key=3! optional=4*
io.k8s.api.core.v1.FlexPersistentVolumeSource driver=1! fsType=2 secretRef=3* readOnly=4 options=5
io.k8s.api.core.v1.FlexVolumeSource driver=1! fsType=2 secretRef=3* readOnly=4 options=5
io.k8s.api.core.v1.FlockerVolumeSource datasetName=1 datasetUUID=2
io.k8s.api.core.v1.GCEPersistentDiskVolumeSource pdName=1! fsType=2 partition=3 readOnly=4
io.k8s.api.core.v1.GRPCAction port=1! service=2*
io.k8s.api.core.v1.GitRepoVolumeSource repository=1! revision=2 directory=3
io.k8s.api.core.v1.GlusterfsPersistentVolumeSource endpoints=1! path=2! readOnly=3 endpointsNamespace=4*
io.k8s.api.core.v1.GlusterfsVolumeSource endpoints=1! path=2! readOnly=3
io.k8s.api.core.v1.HTTPGetAction path=1 port=2! host=3 scheme=4 httpHeaders=5
io.k8s.api.core.v1.HTTPHeader name=1! value=2!
io.k8s.api.core.v1.HostAlias ip=1! hostnames=2
io.k8s.api.core.v1.HostIP ip=1!
io.k8s.api.core.v1.HostPathVolumeSource path=1! type=2*
io.k8s.api.core.v1.ISCSIPersistentVolumeSource targetPortal=1! iqn=2! lun=3! iscsiInterface=4 fsType=5 readOnly=6 portals=7 chapAuthDiscovery=8 chapAuthSession=11 secretRef=10* initiatorName=12*
io.k8s.api.core.v1.ISCSIVolumeSource targetPortal=1! iqn=2! lun=3! iscsiInterface=4 fsType=5 readOnly=6 portals=7 chapAuthDiscovery=8 chapAuthSession=11 secretRef=10* initiatorName=12*
io.k8s.api.core.v1.ImageVolumeSource reference=1 pullPolicy=2
io.k8s.api.core.v1.ImageVolumeStatus imageRef=1
io.k8s.api.core.v1.KeyToPath key=1! path=2! mode=3*
io.k8s.api.core.v1.Lifecycle postStart=1* preStop=2* stopSignal=3*
io.k8s.api.core.v1.LifecycleHandler exec=1* httpGet=2* tcpSocket=3* sleep=4*
io.k8s.api.core.v1.LimitRange metadata=1 spec=2
io.k8s.api.core.v1.LimitRangeItem type=1! max=2 min=3 default=4 defaultRequest=5 maxLimitRequestRatio=6
io.k8s.api.core.v1.LimitRangeList metadata=1 items=2!
io.k8s.api.core.v1.LimitRangeSpec limits=1!
io.k8s.api.core.v1.LinuxContainerUser uid=1! gid=2! supplementalGroups=3
io.k8s.api.core.v1.LoadBalancerIngress ip=1 hostname=2 ipMode=3* ports=4
io.k8s.api.core.v1.LoadBalancerStatus ingress=1
io.k8s.api.core.v1.LocalObjectReference name=1
io.k8s.api.core.v1.LocalVolumeSource path=1! fsType=2*
io.k8s.api.core.v1.ModifyVolumeStatus targetVolumeAttributesClassName=1 status=2!
io.k8s.api.core.v1.NFSVolumeSource server=1! path=2! readOnly=3
io.k8s.api.core.v1.Namespace metadata=1 spec=2 status=3
io.k8s.api.core.v1.NamespaceCondition type=1! status=2! lastTransitionTime=4 reason=5 message=6
io.k8s.api.core.v1.NamespaceList metadata=1 items=2!
io.k8s.api.core.v1.NamespaceSpec finalizers=1
io.k8s.api.core.v1.NamespaceStatus phase=1 conditions=2
io.k8s.api.core.v1.Node metadata=1 spec=2 status=3
io.k8s.api.core.v1.NodeAddress type=1! address=2!
io.k8s.api.core.v1.NodeAffinity requiredDuringSchedulingIgnoredDuringExecution=1* preferredDuringSchedulingIgnoredDuringExecution=2
io.k8s.api.core.v1.NodeAllocatableResourceClaimStatus resourceClaimName=1! containers=2 resources=3!
io.k8s.api.core.v1.NodeCondition type=1! status=2! lastHeartbeatTime=3 lastTransitionTime=4 reason=5 message=6
io.k8s.api.core.v1.NodeConfigSource configMap=2*
io.k8s.api.core.v1.NodeConfigStatus assigned=1* active=2* lastKnownGood=3* error=4
io.k8s.api.core.v1.NodeDaemonEndpoints kubeletEndpoint=1
io.k8s.api.core.v1.NodeFeatures supplementalGroupsPolicy=1*
io.k8s.api.core.v1.NodeList metadata=1 items=2!
io.k8s.api.core.v1.NodeRuntimeHandler name=1! features=2*
io.k8s.api.core.v1.NodeRuntimeHandlerFeatures recursiveReadOnlyMounts=1* userNamespaces=2*
io.k8s.api.core.v1.NodeSelector nodeSelectorTerms=1!
io.k8s.api.core.v1.NodeSelectorRequirement key=1! operator=2! values=3
io.k8s.api.core.v1.NodeSelectorTerm matchExpressions=1 matchFields=2
io.k8s.api.core.v1.NodeSpec podCIDR=1 podCIDRs=7 providerID=3 unschedulable=4 taints=5 configSource=6* externalID=2
io.k8s.api.core.v1.NodeStatus capacity=1 allocatable=2 phase=3 conditions=4 addresses=5 daemonEndpoints=6 nodeInfo=7 images=8 volumesInUse=9 volumesAttached=10 config=11* runtimeHandlers=12 features=13* declaredFeatures=14
io.k8s.api.core.v1.NodeSwapStatus capacity=1*
io.k8s.api.core.v1.NodeSystemInfo machineID=1! systemUUID=2! bootID=3! kernelVersion=4! osImage=5! containerRuntimeVersion=6! kubeletVersion=7! kubeProxyVersion=8! operatingSystem=9! architecture=10! swap=11*
io.k8s.api.core.v1.ObjectFieldSelector apiVersion=1 fieldPath=2!
io.k8s.api.core.v1.ObjectReference kind=1 namespace=2 name=3 uid=4 apiVersion=5 resourceVersion=6 fieldPath=7
io.k8s.api.core.v1.PersistentVolume metadata=1 spec=2 status=3
io.k8s.api.core.v1.PersistentVolumeClaim metadata=1 spec=2 status=3
io.k8s.api.core.v1.PersistentVolumeClaimCondition type=1! status=2! lastProbeTime=3 lastTransitionTime=4 reason=5 message=6
io.k8s.api.core.v1.PersistentVolumeClaimList metadata=1 items=2!
io.k8s.api.core.v1.PersistentVolumeClaimSpec accessModes=1 selector=4* resources=2 volumeName=3 storageClassName=5* volumeMode=6* dataSource=7* dataSourceRef=8* volumeAttributesClassName=9*
io.k8s.api.core.v1.PersistentVolumeClaimStatus phase=1 accessModes=2 capacity=3 conditions=4 allocatedResources=5 allocatedResourceStatuses=7 currentVolumeAttributesClassName=8* modifyVolumeStatus=9*
io.k8s.api.core.v1.PersistentVolumeClaimTemplate metadata=1 spec=2!
io.k8s.api.core.v1.PersistentVolumeClaimVolumeSource claimName=1! readOnly=2
io.k8s.api.core.v1.PersistentVolumeList metadata=1 items=2!
io.k8s.api.core.v1.PersistentVolumeSpec capacity=1 gcePersistentDisk=2.1* awsElasticBlockStore=2.2* hostPath=2.3* glusterfs=2.4* nfs=2.5* rbd=2.6* iscsi=2.7* cinder=2.8* cephfs=2.9* fc=2.10* flocker=2.11* flexVolume=2.12* azureFile=2.13* vsphereVolume=2.14* quobyte=2.15* azureDisk=2.16* photonPersistentDisk=2.17* portworxVolume=2.18* scaleIO=2.19* local=2.20* storageos=2.21* csi=2.22* accessModes=3 claimRef=4* persistentVolumeReclaimPolicy=5 storageClassName=6 mountOptions=7 volumeMode=8* nodeAffinity=9* volumeAttributesClassName=10*
io.k8s.api.core.v1.PersistentVolumeStatus phase=1 message=2 reason=3 lastPhaseTransitionTime=4*
io.k8s.api.core.v1.PhotonPersistentDiskVolumeSource pdID=1! fsType=2
io.k8s.api.core.v1.Pod metadata=1 spec=2 status=3
io.k8s.api.core.v1.PodAffinity requiredDuringSchedulingIgnoredDuringExecution=1 preferredDuringSchedulingIgnoredDuringExecution=2
io.k8s.api.core.v1.PodAffinityTerm labelSelector=1* namespaces=2 topologyKey=3! namespaceSelector=4* matchLabelKeys=5 mismatchLabelKeys=6
io.k8s.api.core.v1.PodAntiAffinity requiredDuringSchedulingIgnoredDuringExecution=1 preferredDuringSchedulingIgnoredDuringExecution=2
io.k8s.api.core.v1.PodCertificateProjection signerName=1 keyType=2 maxExpirationSeconds=3* credentialBundlePath=4 keyPath=5 certificateChainPath=6 userAnnotations=7
io.k8s.api.core.v1.PodCondition type=1! observedGeneration=7 status=2! lastProbeTime=3 lastTransitionTime=4 reason=5 message=6
io.k8s.api.core.v1.PodDNSConfig nameservers=1 searches=2 options=3
io.k8s.api.core.v1.PodDNSConfigOption name=1 value=2*
io.k8s.api.core.v1.PodExtendedResourceClaimStatus requestMappings=1! resourceClaimName=2!
io.k8s.api.core.v1.PodIP ip=1!
io.k8s.api.core.v1.PodList metadata=1 items=2!
io.k8s.api.core.v1.PodOS name=1!
io.k8s.api.core.v1.PodReadinessGate conditionType=1!
io.k8s.api.core.v1.PodResourceClaim name=1! resourceClaimName=3* resourceClaimTemplateName=4*
io.k8s.api.core.v1.PodResourceClaimStatus name=1! resourceClaimName=2*
io.k8s.api.core.v1.PodSchedulingGate name=1!
io.k8s.api.core.v1.PodSchedulingGroup podGroupName=1*
io.k8s.api.core.v1.PodSecurityContext seLinuxOptions=1* windowsOptions=8* runAsUser=2* runAsGroup=6* runAsNonRoot=3* supplementalGroups=4 supplementalGroupsPolicy=12* fsGroup=5* sysctls=7 fsGroupChangePolicy=9* seccompProfile=10* appArmorProfile=11* seLinuxChangePolicy=13*
io.k8s.api.core.v1.PodSpec volumes=1 initContainers=20 containers=2! ephemeralContainers=34 restartPolicy=3 terminationGracePeriodSeconds=4* activeDeadlineSeconds=5* dnsPolicy=6 nodeSelector=7 serviceAccountName=8 serviceAccount=9 automountServiceAccountToken=21* nodeName=10 hostNetwork=11 hostPID=12 hostIPC=13 shareProcessNamespace=27* securityContext=14* imagePullSecrets=15 hostname=16 subdomain=17 affinity=18* schedulerName=19 tolerations=22 hostAliases=23 priorityClassName=24 priority=25* dnsConfig=26* readinessGates=28 runtimeClassName=29* enableServiceLinks=30* preemptionPolicy=31* overhead=32 topologySpreadConstraints=33 setHostnameAsFQDN=35* os=36* hostUsers=37* schedulingGates=38 resourceClaims=39 resources=40* hostnameOverride=41* schedulingGroup=43*
io.k8s.api.core.v1.PodStatus observedGeneration=17 phase=1 conditions=2 message=3 reason=4 nominatedNodeName=11 hostIP=5 hostIPs=16 podIP=6 podIPs=12 startTime=7* initContainerStatuses=10 containerStatuses=8 qosClass=9 ephemeralContainerStatuses=13 resize=14 resourceClaimStatuses=15 extendedResourceClaimStatus=18* allocatedResources=19 resources=20* nodeAllocatableResourceClaimStatuses=21
io.k8s.api.core.v1.PodTemplate metadata=1 template=2
io.k8s.api.core.v1.PodTemplateList metadata=1 items=2!
io.k8s.api.core.v1.PodTemplateSpec metadata=1 spec=2
io.k8s.api.core.v1.PortStatus port=1! protocol=2! error=3*
io.k8s.api.core.v1.PortworxVolumeSource volumeID=1! fsType=2 readOnly=3
io.k8s.api.core.v1.PreferredSchedulingTerm weight=1! preference=2!
io.k8s.api.core.v1.Probe exec=1.1* httpGet=1.2* tcpSocket=1.3* grpc=1.4* initialDelaySeconds=2 timeoutSeconds=3 periodSeconds=4 successThreshold=5 failureThreshold=6 terminationGracePeriodSeconds=7*
io.k8s.api.core.v1.ProjectedVolumeSource sources=1! defaultMode=2*
io.k8s.api.core.v1.QuobyteVolumeSource registry=1! volume=2! readOnly=3 user=4 group=5 tenant=6
io.k8s.api.core.v1.RBDPersistentVolumeSource monitors=1! image=2! fsType=3 pool=4 user=5 keyring=6 secretRef=7* readOnly=8
io.k8s.api.core.v1.RBDVolumeSource monitors=1! image=2! fsType=3 pool=4 user=5 keyring=6 secretRef=7* readOnly=8
io.k8s.api.core.v1.ReplicationController metadata=1 spec=2 status=3
io.k8s.api.core.v1.ReplicationControllerCondition type=1! status=2! lastTransitionTime=3 reason=4 message=5
io.k8s.api.core.v1.ReplicationControllerList metadata=1 items=2!
io.k8s.api.core.v1.ReplicationControllerSpec replicas=1* minReadySeconds=4 selector=2 template=3*
io.k8s.api.core.v1.ReplicationControllerStatus replicas=1! fullyLabeledReplicas=2 readyReplicas=4 availableReplicas=5 observedGeneration=3 conditions=6
io.k8s.api.core.v1.ResourceClaim name=1! request=2
io.k8s.api.core.v1.ResourceFieldSelector containerName=1 resource=2! divisor=3
io.k8s.api.core.v1.ResourceHealth resourceID=1! health=2 message=6*
io.k8s.api.core.v1.ResourceQuota metadata=1 spec=2 status=3
io.k8s.api.core.v1.ResourceQuotaList metadata=1 items=2!
io.k8s.api.core.v1.ResourceQuotaSpec hard=1 scopes=2 scopeSelector=3*
io.k8s.api.core.v1.ResourceQuotaStatus hard=1 used=2
io.k8s.api.core.v1.ResourceRequirements limits=1 requests=2 claims=3
io.k8s.api.core.v1.ResourceStatus name=1! resources=2
io.k8s.api.core.v1.SELinuxOptions user=1 role=2 type=3 level=4
io.k8s.api.core.v1.ScaleIOPersistentVolumeSource gateway=1! system=2! secretRef=3* sslEnabled=4 protectionDomain=5 storagePool=6 storageMode=7 volumeName=8 fsType=9 readOnly=10
io.k8s.api.core.v1.ScaleIOVolumeSource gateway=1! system=2! secretRef=3* sslEnabled=4 protectionDomain=5 storagePool=6 storageMode=7 volumeName=8 fsType=9 readOnly=10
io.k8s.api.core.v1.ScopeSelector matchExpressions=1
io.k8s.api.core.v1.ScopedResourceSelectorRequirement scopeName=1! operator=2! values=3
io.k8s.api.core.v1.SeccompProfile type=1! localhostProfile=2*
io.k8s.api.core.v1.Secret metadata=1 immutable=5* data=2 stringData=4 type=3
io.k8s.api.core.v1.SecretEnvSource name=1.1 optional=2*
io.k8s.api.core.v1.SecretKeySelector name=1.1 key=2! optional=3*
io.k8s.api.core.v1.SecretList metadata=1 items=2!
io.k8s.api.core.v1.SecretProjection name=1.1 items=2 optional=4*
io.k8s.api.core.v1.SecretReference name=1 namespace=2
io.k8s.api.core.v1.SecretVolumeSource secretName=1 items=2 defaultMode=3* optional=4*
io.k8s.api.core.v1.SecurityContext capabilities=1* privileged=2* seLinuxOptions=3* windowsOptions=10* runAsUser=4* runAsGroup=8* runAsNonRoot=5* readOnlyRootFilesystem=6* allowPrivilegeEscalation=7* procMount=9* seccompProfile=11* appArmorProfile=12*
io.k8s.api.core.v1.Service metadata=1 spec=2 status=3
io.k8s.api.core.v1.ServiceAccount metadata=1 secrets=2 imagePullSecrets=3 automountServiceAccountToken=4*
io.k8s.api.core.v1.ServiceAccountList metadata=1 items=2!
io.k8s.api.core.v1.ServiceAccountTokenProjection audience=1 expirationSeconds=2* path=3!
io.k8s.api.core.v1.ServiceList metadata=1 items=2!
io.k8s.api.core.v1.ServicePort name=1 protocol=2 appProtocol=6* port=3! targetPort=4 nodePort=5
io.k8s.api.core.v1.ServiceSpec ports=1 selector=2 clusterIP=3 clusterIPs=18 type=4 externalIPs=5 sessionAffinity=7 loadBalancerIP=8 loadBalancerSourceRanges=9 externalName=10 externalTrafficPolicy=11 healthCheckNodePort=12 publishNotReadyAddresses=13 sessionAffinityConfig=14* ipFamilies=19 ipFamilyPolicy=17* allocateLoadBalancerNodePorts=20* loadBalancerClass=21* internalTrafficPolicy=22* trafficDistribution=23*
io.k8s.api.core.v1.ServiceStatus loadBalancer=1 conditions=2
io.k8s.api.core.v1.SessionAffinityConfig clientIP=1*
io.k8s.api.core.v1.SleepAction seconds=1!
io.k8s.api.core.v1.StorageOSPersistentVolumeSource volumeName=1 volumeNamespace=2 fsType=3 readOnly=4 secretRef=5*
io.k8s.api.core.v1.StorageOSVolumeSource volumeName=1 volumeNamespace=2 fsType=3 readOnly=4 secretRef=5*
io.k8s.api.core.v1.Sysctl name=1! value=2!
io.k8s.api.core.v1.TCPSocketAction port=1! host=2
io.k8s.api.core.v1.Taint key=1! value=2 effect=3! timeAdded=4*
io.k8s.api.core.v1.Toleration key=1 operator=2 value=3 effect=4 tolerationSeconds=5*
io.k8s.api.core.v1.TopologySelectorLabelRequirement key=1! values=2!
io.k8s.api.core.v1.TopologySelectorTerm matchLabelExpressions=1
io.k8s.api.core.v1.TopologySpreadConstraint maxSkew=1! topologyKey=2! whenUnsatisfiable=3! labelSelector=4* minDomains=5* nodeAffinityPolicy=6* nodeTaintsPolicy=7* matchLabelKeys=8
io.k8s.api.core.v1.TypedLocalObjectReference apiGroup=1* kind=2! name=3!
io.k8s.api.core.v1.TypedObjectReference apiGroup=1* kind=2! name=3! namespace=4*
io.k8s.api.core.v1.Volume name=1! hostPath=2.1* emptyDir=2.2* gcePersistentDisk=2.3* awsElasticBlockStore=2.4* gitRepo=2.5* secret=2.6* nfs=2.7* iscsi=2.8* glusterfs=2.9* persistentVolumeClaim=2.10* rbd=2.11* flexVolume=2.12* cinder=2.13* cephfs=2.14* flocker=2.15* downwardAPI=2.16* fc=2.17* azureFile=2.18* configMap=2.19* vsphereVolume=2.20* quobyte=2.21* azureDisk=2.22* photonPersistentDisk=2.23* projected=2.26* portworxVolume=2.24* scaleIO=2.25* storageos=2.27* csi=2.28* ephemeral=2.29* image=2.30*
io.k8s.api.core.v1.VolumeDevice name=1! devicePath=2!
io.k8s.api.core.v1.VolumeMount name=1! readOnly=2 recursiveReadOnly=7* mountPath=3! subPath=4 mountPropagation=5* subPathExpr=6
io.k8s.api.core.v1.VolumeMountStatus name=1! mountPath=2! readOnly=3 recursiveReadOnly=4* volumeStatus=5*
io.k8s.api.core.v1.VolumeNodeAffinity required=1*
io.k8s.api.core.v1.VolumeProjection secret=1* downwardAPI=2* configMap=3* serviceAccountToken=4* clusterTrustBundle=5* podCertificate=6*
io.k8s.api.core.v1.VolumeResourceRequirements limits=1 requests=2
io.k8s.api.core.v1.VolumeStatus image=1*
io.k8s.api.core.v1.VsphereVirtualDiskVolumeSource volumePath=1! fsType=2 storagePolicyName=3 storagePolicyID=4
io.k8s.api.core.v1.WeightedPodAffinityTerm weight=1! podAffinityTerm=2!
io.k8s.api.core.v1.WindowsSecurityContextOptions gmsaCredentialSpecName=1* gmsaCredentialSpec=2* runAsUserName=3* hostProcess=4*
io.k8s.api.discovery.v1.Endpoint addresses=1! conditions=2 hostname=3* targetRef=4* deprecatedTopology=5 nodeName=6* zone=7* hints=8*
io.k8s.api.discovery.v1.EndpointConditions ready=1* serving=2* terminating=3*
io.k8s.api.discovery.v1.EndpointHints forZones=1 forNodes=2
io.k8s.api.discovery.v1.EndpointPort name=1* protocol=2* port=3* appProtocol=4*
io.k8s.api.discovery.v1.EndpointSlice metadata=1 addressType=4! endpoints=2! ports=3!
io.k8s.api.discovery.v1.EndpointSliceList metadata=1 items=2!
io.k8s.api.discovery.v1.ForNode name=1!
io.k8s.api.discovery.v1.ForZone name=1!
io.k8s.api.events.v1.Event metadata=1! eventTime=2! series=3* reportingController=4 reportingInstance=5 action=6 reason=7 regarding=8 related=9* note=10 type=11 deprecatedSource=12 deprecatedFirstTimestamp=13 deprecatedLastTimestamp=14 deprecatedCount=15
io.k8s.api.events.v1.EventList metadata=1 items=2!
io.k8s.api.events.v1.EventSeries count=1! lastObservedTime=2!
io.k8s.api.flowcontrol.v1.ExemptPriorityLevelConfiguration nominalConcurrencyShares=1* lendablePercent=2*
io.k8s.api.flowcontrol.v1.FlowDistinguisherMethod type=1!
io.k8s.api.flowcontrol.v1.FlowSchema metadata=1 spec=2 status=3
io.k8s.api.flowcontrol.v1.FlowSchemaCondition type=1 status=2 lastTransitionTime=3 reason=4 message=5
io.k8s.api.flowcontrol.v1.FlowSchemaList metadata=1 items=2!
io.k8s.api.flowcontrol.v1.FlowSchemaSpec priorityLevelConfiguration=1! matchingPrecedence=2! distinguisherMethod=3* rules=4
io.k8s.api.flowcontrol.v1.FlowSchemaStatus conditions=1
io.k8s.api.flowcontrol.v1.GroupSubject name=1!
io.k8s.api.flowcontrol.v1.LimitResponse type=1! queuing=2*
io.k8s.api.flowcontrol.v1.LimitedPriorityLevelConfiguration nominalConcurrencyShares=1* limitResponse=2 lendablePercent=3* borrowingLimitPercent=4*
io.k8s.api.flowcontrol.v1.NonResourcePolicyRule verbs=1! nonResourceURLs=6!
io.k8s.api.flowcontrol.v1.PolicyRulesWithSubjects subjects=1! resourceRules=2 nonResourceRules=3
io.k8s.api.flowcontrol.v1.PriorityLevelConfiguration metadata=1 spec=2 status=3
io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationCondition type=1 status=2 lastTransitionTime=3 reason=4 message=5
io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationList metadata=1 items=2!
io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationReference name=1!
io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationSpec type=1! limited=2* exempt=3*
io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationStatus conditions=1
io.k8s.api.flowcontrol.v1.QueuingConfiguration queues=1! handSize=2! queueLengthLimit=3!
io.k8s.api.flowcontrol.v1.ResourcePolicyRule verbs=1! apiGroups=2! resources=3! clusterScope=4 namespaces=5!
io.k8s.api.flowcontrol.v1.ServiceAccountSubject namespace=1! name=2!
io.k8s.api.flowcontrol.v1.Subject kind=1! user=2* group=3* serviceAccount=4*
io.k8s.api.flowcontrol.v1.UserSubject name=1!
io.k8s.api.networking.v1.HTTPIngressPath path=1 pathType=3* backend=2!
io.k8s.api.networking.v1.HTTPIngressRuleValue paths=1!
io.k8s.api.networking.v1.IPAddress metadata=1 spec=2
io.k8s.api.networking.v1.IPAddressList metadata=1 items=2!
io.k8s.api.networking.v1.IPAddressSpec parentRef=1*
io.k8s.api.networking.v1.IPBlock cidr=1! except=2
io.k8s.api.networking.v1.Ingress metadata=1 spec=2 status=3
io.k8s.api.networking.v1.IngressBackend service=4* resource=3*
io.k8s.api.networking.v1.IngressClass metadata=1 spec=2
io.k8s.api.networking.v1.IngressClassList metadata=1 items=2!
io.k8s.api.networking.v1.IngressClassParametersReference apiGroup=1* kind=2! name=3! scope=4* namespace=5*
io.k8s.api.networking.v1.IngressClassSpec controller=1 parameters=2*
io.k8s.api.networking.v1.IngressList metadata=1 items=2!
io.k8s.api.networking.v1.IngressLoadBalancerIngress ip=1 hostname=2 ports=4
io.k8s.api.networking.v1.IngressLoadBalancerStatus ingress=1
io.k8s.api.networking.v1.IngressPortStatus port=1! protocol=2! error=3*
io.k8s.api.networking.v1.IngressRule host=1 http=2.1*
io.k8s.api.networking.v1.IngressServiceBackend name=1! port=2
io.k8s.api.networking.v1.IngressSpec ingressClassName=4* defaultBackend=1* tls=2 rules=3
io.k8s.api.networking.v1.IngressStatus loadBalancer=1
io.k8s.api.networking.v1.IngressTLS hosts=1 secretName=2
io.k8s.api.networking.v1.NetworkPolicy metadata=1 spec=2
io.k8s.api.networking.v1.NetworkPolicyEgressRule ports=1 to=2
io.k8s.api.networking.v1.NetworkPolicyIngressRule ports=1 from=2
io.k8s.api.networking.v1.NetworkPolicyList metadata=1 items=2!
io.k8s.api.networking.v1.NetworkPolicyPeer podSelector=1* namespaceSelector=2* ipBlock=3*
io.k8s.api.networking.v1.NetworkPolicyPort protocol=1* port=2* endPort=3*
io.k8s.api.networking.v1.NetworkPolicySpec podSelector=1! ingress=2 egress=3 policyTypes=4
io.k8s.api.networking.v1.ParentReference group=1 resource=2 namespace=3 name=4
io.k8s.api.networking.v1.ServiceBackendPort name=1 number=2
io.k8s.api.networking.v1.ServiceCIDR metadata=1 spec=2 status=3
io.k8s.api.networking.v1.ServiceCIDRList metadata=1 items=2!
io.k8s.api.networking.v1.ServiceCIDRSpec cidrs=1
io.k8s.api.networking.v1.ServiceCIDRStatus conditions=1
io.k8s.api.networking.v1beta1.IPAddress metadata=1 spec=2
io.k8s.api.networking.v1beta1.IPAddressList metadata=1 items=2!
io.k8s.api.networking.v1beta1.IPAddressSpec parentRef=1*
io.k8s.api.networking.v1beta1.ParentReference group=1 resource=2 namespace=3 name=4
io.k8s.api.networking.v1beta1.ServiceCIDR metadata=1 spec=2 status=3
io.k8s.api.networking.v1beta1.ServiceCIDRList metadata=1 items=2!
io.k8s.api.networking.v1beta1.ServiceCIDRSpec cidrs=1
io.k8s.api.networking.v1beta1.ServiceCIDRStatus conditions=1
io.k8s.api.node.v1.Overhead podFixed=1
io.k8s.api.node.v1.RuntimeClass metadata=1 handler=2! overhead=3* scheduling=4*
io.k8s.api.node.v1.RuntimeClassList metadata=1 items=2!
io.k8s.api.node.v1.Scheduling nodeSelector=1 tolerations=2
io.k8s.api.policy.v1.Eviction metadata=1 deleteOptions=2*
io.k8s.api.policy.v1.PodDisruptionBudget metadata=1 spec=2 status=3
io.k8s.api.policy.v1.PodDisruptionBudgetList metadata=1 items=2!
io.k8s.api.policy.v1.PodDisruptionBudgetSpec minAvailable=1* selector=2* maxUnavailable=3* unhealthyPodEvictionPolicy=4*
io.k8s.api.policy.v1.PodDisruptionBudgetStatus observedGeneration=1 disruptedPods=2 disruptionsAllowed=3! currentHealthy=4! desiredHealthy=5! expectedPods=6! conditions=7
io.k8s.api.rbac.v1.AggregationRule clusterRoleSelectors=1
io.k8s.api.rbac.v1.ClusterRole metadata=1 rules=2! aggregationRule=3*
io.k8s.api.rbac.v1.ClusterRoleBinding metadata=1 subjects=2 roleRef=3!
io.k8s.api.rbac.v1.ClusterRoleBindingList metadata=1 items=2!
io.k8s.api.rbac.v1.ClusterRoleList metadata=1 items=2!
io.k8s.api.rbac.v1.PolicyRule verbs=1! apiGroups=2 resources=3 resourceNames=4 nonResourceURLs=5
io.k8s.api.rbac.v1.Role metadata=1 rules=2!
io.k8s.api.rbac.v1.RoleBinding metadata=1 subjects=2 roleRef=3!
io.k8s.api.rbac.v1.RoleBindingList metadata=1 items=2!
io.k8s.api.rbac.v1.RoleList metadata=1 items=2!
io.k8s.api.rbac.v1.RoleRef apiGroup=1! kind=2! name=3!
io.k8s.api.rbac.v1.Subject kind=1! apiGroup=2 name=3! namespace=4
io.k8s.api.resource.v1.AllocatedDeviceStatus driver=1! pool=2! device=3! shareID=7* conditions=4! data=5* networkData=6*
io.k8s.api.resource.v1.AllocationResult devices=1 nodeSelector=3* allocationTimestamp=5*
io.k8s.api.resource.v1.CELDeviceSelector expression=1!
io.k8s.api.resource.v1.CapacityRequestPolicy default=1* validValues=3 validRange=4*
io.k8s.api.resource.v1.CapacityRequestPolicyRange min=1* max=2* step=3*
io.k8s.api.resource.v1.CapacityRequirements requests=1
io.k8s.api.resource.v1.Counter value=1!
io.k8s.api.resource.v1.CounterSet name=1! counters=2
io.k8s.api.resource.v1.Device name=1! attributes=2 capacity=3 consumesCounters=4 nodeName=5* nodeSelector=6* allNodes=7* taints=8 bindsToNode=9* bindingConditions=10 bindingFailureConditions=11 allowMultipleAllocations=12* nodeAllocatableResourceMappings=13
io.k8s.api.resource.v1.DeviceAllocationConfiguration source=1! requests=2 opaque=3.1*
io.k8s.api.resource.v1.DeviceAllocationResult results=1 config=2
io.k8s.api.resource.v1.DeviceAttribute int=2* bool=3* string=4* version=5* ints=6 bools=7 strings=8 versions=9
io.k8s.api.resource.v1.DeviceCapacity value=1! requestPolicy=2*
io.k8s.api.resource.v1.DeviceClaim requests=1! constraints=2 config=3
io.k8s.api.resource.v1.DeviceClaimConfiguration requests=1 opaque=2.1*
io.k8s.api.resource.v1.DeviceClass metadata=1 spec=2!
io.k8s.api.resource.v1.DeviceClassConfiguration opaque=1.1*
io.k8s.api.resource.v1.DeviceClassList metadata=1 items=2!
io.k8s.api.resource.v1.DeviceClassSpec selectors=1 config=2 extendedResourceName=4*
io.k8s.api.resource.v1.DeviceConstraint requests=1 matchAttribute=2* distinctAttribute=3*
io.k8s.api.resource.v1.DeviceCounterConsumption counterSet=1! counters=2
io.k8s.api.resource.v1.DeviceRequest name=1! exactly=2* firstAvailable=3
io.k8s.api.resource.v1.DeviceRequestAllocationResult request=1! driver=2! pool=3! device=4! adminAccess=5* tolerations=6 bindingConditions=7 bindingFailureConditions=8 shareID=9* consumedCapacity=10
io.k8s.api.resource.v1.DeviceSelector cel=1*
io.k8s.api.resource.v1.DeviceSubRequest name=1! deviceClassName=2! selectors=3 allocationMode=4 count=5 tolerations=6 capacity=7*
io.k8s.api.resource.v1.DeviceTaint key=1! value=2 effect=3! timeAdded=4*
io.k8s.api.resource.v1.DeviceToleration key=1 operator=2 value=3 effect=4 tolerationSeconds=5*
io.k8s.api.resource.v1.ExactDeviceRequest deviceClassName=1! selectors=2 allocationMode=3 count=4 adminAccess=5* tolerations=6 capacity=7*
io.k8s.api.resource.v1.NetworkDeviceData interfaceName=1 ips=2 hardwareAddress=3
io.k8s.api.resource.v1.NodeAllocatableResourceMapping capacityKey=1* allocationMultiplier=2*
io.k8s.api.resource.v1.OpaqueDeviceConfiguration driver=1! parameters=2!
io.k8s.api.resource.v1.ResourceClaim metadata=1 spec=2! status=3
io.k8s.api.resource.v1.ResourceClaimConsumerReference apiGroup=1 resource=3! name=4! uid=5!
io.k8s.api.resource.v1.ResourceClaimList metadata=1 items=2!
io.k8s.api.resource.v1.ResourceClaimSpec devices=1!
io.k8s.api.resource.v1.ResourceClaimStatus allocation=1* reservedFor=2 devices=4
io.k8s.api.resource.v1.ResourceClaimTemplate metadata=1 spec=2!
io.k8s.api.resource.v1.ResourceClaimTemplateList metadata=1 items=2!
io.k8s.api.resource.v1.ResourceClaimTemplateSpec metadata=1 spec=2!
io.k8s.api.resource.v1.ResourcePool name=1! generation=2! resourceSliceCount=3!
io.k8s.api.resource.v1.ResourceSlice metadata=1 spec=2!
io.k8s.api.resource.v1.ResourceSliceList metadata=1 items=2!
io.k8s.api.resource.v1.ResourceSliceSpec driver=1! pool=2! nodeName=3* nodeSelector=4* allNodes=5* devices=6 perDeviceNodeSelection=7* sharedCounters=8
io.k8s.api.resource.v1alpha3.DeviceTaint key=1! value=2 effect=3! timeAdded=4*
io.k8s.api.resource.v1alpha3.DeviceTaintRule metadata=1 spec=2! status=3
io.k8s.api.resource.v1alpha3.DeviceTaintRuleList metadata=1 items=2!
io.k8s.api.resource.v1alpha3.DeviceTaintRuleSpec deviceSelector=1* taint=2
io.k8s.api.resource.v1alpha3.DeviceTaintRuleStatus conditions=1
io.k8s.api.resource.v1alpha3.DeviceTaintSelector driver=2* pool=3* device=4*
io.k8s.api.resource.v1alpha3.PoolStatus driver=1 poolName=2 generation=9! resourceSliceCount=8* totalDevices=4* allocatedDevices=5* availableDevices=6* unavailableDevices=7* nodeName=3* validationError=10*
io.k8s.api.resource.v1alpha3.ResourcePoolStatusRequest metadata=1 spec=2! status=3*
io.k8s.api.resource.v1alpha3.ResourcePoolStatusRequestList metadata=1 items=2!
io.k8s.api.resource.v1alpha3.ResourcePoolStatusRequestSpec driver=1! poolName=2* limit=3*
io.k8s.api.resource.v1alpha3.ResourcePoolStatusRequestStatus poolCount=6* pools=2 conditions=3
io.k8s.api.resource.v1beta1.AllocatedDeviceStatus driver=1! pool=2! device=3! shareID=7* conditions=4! data=5* networkData=6*
io.k8s.api.resource.v1beta1.AllocationResult devices=1 nodeSelector=3* allocationTimestamp=5*
io.k8s.api.resource.v1beta1.BasicDevice attributes=1 capacity=2 consumesCounters=3 nodeName=4* nodeSelector=5* allNodes=6* taints=7 bindsToNode=8* bindingConditions=9 bindingFailureConditions=10 allowMultipleAllocations=11* nodeAllocatableResourceMappings=12
io.k8s.api.resource.v1beta1.CELDeviceSelector expression=1!
io.k8s.api.resource.v1beta1.CapacityRequestPolicy default=1* validValues=3 validRange=4*
io.k8s.api.resource.v1beta1.CapacityRequestPolicyRange min=1* max=2* step=3*
io.k8s.api.resource.v1beta1.CapacityRequirements requests=1
io.k8s.api.resource.v1beta1.Counter value=1!
io.k8s.api.resource.v1beta1.CounterSet name=1! counters=2
io.k8s.api.resource.v1beta1.Device name=1! basic=2*
io.k8s.api.resource.v1beta1.DeviceAllocationConfiguration source=1! requests=2 opaque=3.1*
io.k8s.api.resource.v1beta1.DeviceAllocationResult results=1 config=2
io.k8s.api.resource.v1beta1.DeviceAttribute int=2* bool=3* string=4* version=5* ints=6 bools=7 strings=8 versions=9
io.k8s.api.resource.v1beta1.DeviceCapacity value=1! requestPolicy=2*
io.k8s.api.resource.v1beta1.DeviceClaim requests=1! constraints=2 config=3
io.k8s.api.resource.v1beta1.DeviceClaimConfiguration requests=1 opaque=2.1*
io.k8s.api.resource.v1beta1.DeviceClass metadata=1 spec=2!
io.k8s.api.resource.v1beta1.DeviceClassConfiguration opaque=1.1*
io.k8s.api.resource.v1beta1.DeviceClassList metadata=1 items=2!
io.k8s.api.resource.v1beta1.DeviceClassSpec selectors=1 config=2 extendedResourceName=4*
io.k8s.api.resource.v1beta1.DeviceConstraint requests=1 matchAttribute=2* distinctAttribute=3*
io.k8s.api.resource.v1beta1.DeviceCounterConsumption counterSet=1! counters=2
io.k8s.api.resource.v1beta1.DeviceRequest name=1! deviceClassName=2! selectors=3 allocationMode=4 count=5 adminAccess=6* firstAvailable=7 tolerations=8 capacity=9*
io.k8s.api.resource.v1beta1.DeviceRequestAllocationResult request=1! driver=2! pool=3! device=4! adminAccess=5* tolerations=6 bindingConditions=7 bindingFailureConditions=8 shareID=9* consumedCapacity=10
io.k8s.api.resource.v1beta1.DeviceSelector cel=1*
io.k8s.api.resource.v1beta1.DeviceSubRequest name=1! deviceClassName=2! selectors=3 allocationMode=4 count=5 tolerations=7 capacity=8*
io.k8s.api.resource.v1beta1.DeviceTaint key=1! value=2 effect=3! timeAdded=4*
io.k8s.api.resource.v1beta1.DeviceToleration key=1 operator=2 value=3 effect=4 tolerationSeconds=5*
io.k8s.api.resource.v1beta1.NetworkDeviceData interfaceName=1 ips=2 hardwareAddress=3
io.k8s.api.resource.v1beta1.NodeAllocatableResourceMapping capacityKey=1* allocationMultiplier=2*
io.k8s.api.resource.v1beta1.OpaqueDeviceConfiguration driver=1! parameters=2!
io.k8s.api.resource.v1beta1.ResourceClaim metadata=1 spec=2! status=3
io.k8s.api.resource.v1beta1.ResourceClaimConsumerReference apiGroup=1 resource=3! name=4! uid=5!
io.k8s.api.resource.v1beta1.ResourceClaimList metadata=1 items=2!
io.k8s.api.resource.v1beta1.ResourceClaimSpec devices=1!
io.k8s.api.resource.v1beta1.ResourceClaimStatus allocation=1* reservedFor=2 devices=4
io.k8s.api.resource.v1beta1.ResourceClaimTemplate metadata=1 spec=2!
io.k8s.api.resource.v1beta1.ResourceClaimTemplateList metadata=1 items=2!
io.k8s.api.resource.v1beta1.ResourceClaimTemplateSpec metadata=1 spec=2!
io.k8s.api.resource.v1beta1.ResourcePool name=1! generation=2! resourceSliceCount=3!
io.k8s.api.resource.v1beta1.ResourceSlice metadata=1 spec=2!
io.k8s.api.resource.v1beta1.ResourceSliceList metadata=1 items=2!
io.k8s.api.resource.v1beta1.ResourceSliceSpec driver=1! pool=2! nodeName=3 nodeSelector=4* allNodes=5 devices=6 perDeviceNodeSelection=7* sharedCounters=8
io.k8s.api.resource.v1beta2.AllocatedDeviceStatus driver=1! pool=2! device=3! shareID=7* conditions=4! data=5* networkData=6*
io.k8s.api.resource.v1beta2.AllocationResult devices=1 nodeSelector=3* allocationTimestamp=5*
io.k8s.api.resource.v1beta2.CELDeviceSelector expression=1!
io.k8s.api.resource.v1beta2.CapacityRequestPolicy default=1* validValues=3 validRange=4*
io.k8s.api.resource.v1beta2.CapacityRequestPolicyRange min=1* max=2* step=3*
io.k8s.api.resource.v1beta2.CapacityRequirements requests=1
io.k8s.api.resource.v1beta2.Counter value=1!
io.k8s.api.resource.v1beta2.CounterSet name=1! counters=2
io.k8s.api.resource.v1beta2.Device name=1! attributes=2 capacity=3 consumesCounters=4 nodeName=5* nodeSelector=6* allNodes=7* taints=8 bindsToNode=9* bindingConditions=10 bindingFailureConditions=11 allowMultipleAllocations=12* nodeAllocatableResourceMappings=13
io.k8s.api.resource.v1beta2.DeviceAllocationConfiguration source=1! requests=2 opaque=3.1*
io.k8s.api.resource.v1beta2.DeviceAllocationResult results=1 config=2
io.k8s.api.resource.v1beta2.DeviceAttribute int=2* bool=3* string=4* version=5* ints=6 bools=7 strings=8 versions=9
io.k8s.api.resource.v1beta2.DeviceCapacity value=1! requestPolicy=2*
io.k8s.api.resource.v1beta2.DeviceClaim requests=1! constraints=2 config=3
io.k8s.api.resource.v1beta2.DeviceClaimConfiguration requests=1 opaque=2.1*
io.k8s.api.resource.v1beta2.DeviceClass metadata=1 spec=2!
io.k8s.api.resource.v1beta2.DeviceClassConfiguration opaque=1.1*
io.k8s.api.resource.v1beta2.DeviceClassList metadata=1 items=2!
io.k8s.api.resource.v1beta2.DeviceClassSpec selectors=1 config=2 extendedResourceName=4*
io.k8s.api.resource.v1beta2.DeviceConstraint requests=1 matchAttribute=2* distinctAttribute=3*
io.k8s.api.resource.v1beta2.DeviceCounterConsumption counterSet=1! counters=2
io.k8s.api.resource.v1beta2.DeviceRequest name=1! exactly=2* firstAvailable=3
io.k8s.api.resource.v1beta2.DeviceRequestAllocationResult request=1! driver=2! pool=3! device=4! adminAccess=5* tolerations=6 bindingConditions=7 bindingFailureConditions=8 shareID=9* consumedCapacity=10
io.k8s.api.resource.v1beta2.DeviceSelector cel=1*
io.k8s.api.resource.v1beta2.DeviceSubRequest name=1! deviceClassName=2! selectors=3 allocationMode=4 count=5 tolerations=6 capacity=7*
io.k8s.api.resource.v1beta2.DeviceTaint key=1! value=2 effect=3! timeAdded=4*
io.k8s.api.resource.v1beta2.DeviceTaintRule metadata=1 spec=2! status=3
io.k8s.api.resource.v1beta2.DeviceTaintRuleList metadata=1 items=2!
io.k8s.api.resource.v1beta2.DeviceTaintRuleSpec deviceSelector=1* taint=2
io.k8s.api.resource.v1beta2.DeviceTaintRuleStatus conditions=1
io.k8s.api.resource.v1beta2.DeviceTaintSelector driver=2* pool=3* device=4*
io.k8s.api.resource.v1beta2.DeviceToleration key=1 operator=2 value=3 effect=4 tolerationSeconds=5*
io.k8s.api.resource.v1beta2.ExactDeviceRequest deviceClassName=1! selectors=2 allocationMode=3 count=4 adminAccess=5* tolerations=6 capacity=7*
io.k8s.api.resource.v1beta2.NetworkDeviceData interfaceName=1 ips=2 hardwareAddress=3
io.k8s.api.resource.v1beta2.NodeAllocatableResourceMapping capacityKey=1* allocationMultiplier=2*
io.k8s.api.resource.v1beta2.OpaqueDeviceConfiguration driver=1! parameters=2!
io.k8s.api.resource.v1beta2.ResourceClaim metadata=1 spec=2! status=3
io.k8s.api.resource.v1beta2.ResourceClaimConsumerReference apiGroup=1 resource=3! name=4! uid=5!
io.k8s.api.resource.v1beta2.ResourceClaimList metadata=1 items=2!
io.k8s.api.resource.v1beta2.ResourceClaimSpec devices=1!
io.k8s.api.resource.v1beta2.ResourceClaimStatus allocation=1* reservedFor=2 devices=4
io.k8s.api.resource.v1beta2.ResourceClaimTemplate metadata=1 spec=2!
io.k8s.api.resource.v1beta2.ResourceClaimTemplateList metadata=1 items=2!
io.k8s.api.resource.v1beta2.ResourceClaimTemplateSpec metadata=1 spec=2!
io.k8s.api.resource.v1beta2.ResourcePool name=1! generation=2! resourceSliceCount=3!
io.k8s.api.resource.v1beta2.ResourceSlice metadata=1 spec=2!
io.k8s.api.resource.v1beta2.ResourceSliceList metadata=1 items=2!
io.k8s.api.resource.v1beta2.ResourceSliceSpec driver=1! pool=2! nodeName=3* nodeSelector=4* allNodes=5* devices=6 perDeviceNodeSelection=7* sharedCounters=8
io.k8s.api.scheduling.v1.PriorityClass metadata=1 value=2! globalDefault=3 description=4 preemptionPolicy=5*
io.k8s.api.scheduling.v1.PriorityClassList metadata=1 items=2!
io.k8s.api.scheduling.v1alpha2.GangSchedulingPolicy minCount=1!
io.k8s.api.scheduling.v1alpha2.PodGroup metadata=1 spec=2! status=3
io.k8s.api.scheduling.v1alpha2.PodGroupList metadata=1 items=2!
io.k8s.api.scheduling.v1alpha2.PodGroupResourceClaim name=1! resourceClaimName=2* resourceClaimTemplateName=3*
io.k8s.api.scheduling.v1alpha2.PodGroupResourceClaimStatus name=1! resourceClaimName=2*
io.k8s.api.scheduling.v1alpha2.PodGroupSchedulingConstraints topology=1
io.k8s.api.scheduling.v1alpha2.PodGroupSchedulingPolicy basic=1* gang=2*
io.k8s.api.scheduling.v1alpha2.PodGroupSpec podGroupTemplateRef=1* schedulingPolicy=2! schedulingConstraints=3* resourceClaims=4 disruptionMode=5* priorityClassName=6 priority=7*
io.k8s.api.scheduling.v1alpha2.PodGroupStatus conditions=1 resourceClaimStatuses=2
io.k8s.api.scheduling.v1alpha2.PodGroupTemplate name=1! schedulingPolicy=2! schedulingConstraints=3* resourceClaims=4 disruptionMode=5* priorityClassName=6 priority=7*
io.k8s.api.scheduling.v1alpha2.PodGroupTemplateReference workload=1*
io.k8s.api.scheduling.v1alpha2.TopologyConstraint key=1!
io.k8s.api.scheduling.v1alpha2.TypedLocalObjectReference apiGroup=1 kind=2! name=3!
io.k8s.api.scheduling.v1alpha2.Workload metadata=1 spec=2!
io.k8s.api.scheduling.v1alpha2.WorkloadList metadata=1 items=2!
io.k8s.api.scheduling.v1alpha2.WorkloadPodGroupTemplateReference workloadName=1! podGroupTemplateName=2!
io.k8s.api.scheduling.v1alpha2.WorkloadSpec controllerRef=1* podGroupTemplates=2!
io.k8s.api.storage.v1.CSIDriver metadata=1 spec=2!
io.k8s.api.storage.v1.CSIDriverList metadata=1 items=2!
io.k8s.api.storage.v1.CSIDriverSpec attachRequired=1* podInfoOnMount=2* volumeLifecycleModes=3 storageCapacity=4* fsGroupPolicy=5* tokenRequests=6 requiresRepublish=7* seLinuxMount=8* nodeAllocatableUpdatePeriodSeconds=9* serviceAccountTokenInSecrets=10* preventPodSchedulingIfMissing=11*
io.k8s.api.storage.v1.CSINode metadata=1 spec=2!
io.k8s.api.storage.v1.CSINodeDriver name=1! nodeID=2! topologyKeys=3! allocatable=4*
io.k8s.api.storage.v1.CSINodeList metadata=1 items=2!
io.k8s.api.storage.v1.CSINodeSpec drivers=1!
io.k8s.api.storage.v1.CSIStorageCapacity metadata=1 nodeTopology=2* storageClassName=3! capacity=4* maximumVolumeSize=5*
io.k8s.api.storage.v1.CSIStorageCapacityList metadata=1 items=2!
io.k8s.api.storage.v1.StorageClass metadata=1 provisioner=2! parameters=3 reclaimPolicy=4* mountOptions=5 allowVolumeExpansion=6* volumeBindingMode=7* allowedTopologies=8
io.k8s.api.storage.v1.StorageClassList metadata=1 items=2!
io.k8s.api.storage.v1.TokenRequest audience=1! expirationSeconds=2*
io.k8s.api.storage.v1.VolumeAttachment metadata=1 spec=2! status=3
io.k8s.api.storage.v1.VolumeAttachmentList metadata=1 items=2!
io.k8s.api.storage.v1.VolumeAttachmentSource persistentVolumeName=1* inlineVolumeSpec=2*
io.k8s.api.storage.v1.VolumeAttachmentSpec attacher=1! source=2! nodeName=3!
io.k8s.api.storage.v1.VolumeAttachmentStatus attached=1! attachmentMetadata=2 attachError=3* detachError=4*
io.k8s.api.storage.v1.VolumeAttributesClass metadata=1 driverName=2! parameters=3
io.k8s.api.storage.v1.VolumeAttributesClassList metadata=1 items=2!
io.k8s.api.storage.v1.VolumeError time=1 message=2 errorCode=3*
io.k8s.api.storage.v1.VolumeNodeResources count=1*
io.k8s.api.storage.v1beta1.VolumeAttributesClass metadata=1 driverName=2! parameters=3
io.k8s.api.storage.v1beta1.VolumeAttributesClassList metadata=1 items=2!
io.k8s.api.storagemigration.v1beta1.StorageVersionMigration metadata=1 spec=2 status=3
io.k8s.api.storagemigration.v1beta1.StorageVersionMigrationList metadata=1 items=2!
io.k8s.api.storagemigration.v1beta1.StorageVersionMigrationSpec resource=1!
io.k8s.api.storagemigration.v1beta1.StorageVersionMigrationStatus conditions=1 resourceVersion=2
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceColumnDefinition name=1! type=2! format=3 description=4 priority=5 jsonPath=6!
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceConversion strategy=1! webhook=2*
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition metadata=1 spec=2! status=3
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionCondition type=1! status=2! lastTransitionTime=3 reason=4 message=5 observedGeneration=6
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionList metadata=1 items=2!
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionNames plural=1! singular=2 shortNames=3 kind=4! listKind=5 categories=6
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec group=1! names=3! scope=4! versions=7! conversion=9* preserveUnknownFields=10
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus conditions=1! acceptedNames=2! storedVersions=3! observedGeneration=4
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionVersion name=1! served=2! storage=3! deprecated=7 deprecationWarning=8* schema=4* subresources=5* additionalPrinterColumns=6 selectableFields=9
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceScale specReplicasPath=1! statusReplicasPath=2! labelSelectorPath=3*
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresources status=1* scale=2*
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceValidation openAPIV3Schema=1*
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ExternalDocumentation description=1 url=2
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps id=1 $schema=2 $ref=3* description=4 type=5 format=6 title=7 default=8* maximum=9* exclusiveMaximum=10 minimum=11* exclusiveMinimum=12 maxLength=13* minLength=14* pattern=15 maxItems=16* minItems=17* uniqueItems=18 multipleOf=19* enum=20 maxProperties=21* minProperties=22* required=23 items=24* allOf=25 oneOf=26 anyOf=27 not=28* properties=29 additionalProperties=30* patternProperties=31 dependencies=32 additionalItems=33* definitions=34 externalDocs=35* example=36* nullable=37 x-kubernetes-preserve-unknown-fields=38* x-kubernetes-embedded-resource=39 x-kubernetes-int-or-string=40 x-kubernetes-list-map-keys=41 x-kubernetes-list-type=42* x-kubernetes-map-type=43* x-kubernetes-validations=44
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.SelectableField jsonPath=1!
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ServiceReference namespace=1! name=2! path=3* port=4*
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ValidationRule rule=1! message=2 messageExpression=3 reason=4* fieldPath=5 optionalOldSelf=6*
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.WebhookClientConfig url=3* service=1* caBundle=2
io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.WebhookConversion clientConfig=2* conversionReviewVersions=3!
io.k8s.apimachinery.pkg.apis.meta.v1.APIGroup name=1! versions=2! preferredVersion=3 serverAddressByClientCIDRs=4
io.k8s.apimachinery.pkg.apis.meta.v1.APIGroupList groups=1!
io.k8s.apimachinery.pkg.apis.meta.v1.APIResource name=1! singularName=6! namespaced=2! group=8 version=9 kind=3! verbs=4.1! shortNames=5 categories=7 storageVersionHash=10
io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList groupVersion=1! resources=2!
io.k8s.apimachinery.pkg.apis.meta.v1.APIVersions versions=1! serverAddressByClientCIDRs=2!
io.k8s.apimachinery.pkg.apis.meta.v1.APIVersions versions=1! serverAddressByClientCIDRs=2!
io.k8s.apimachinery.pkg.apis.meta.v1.Condition type=1! status=2! observedGeneration=3 lastTransitionTime=4! reason=5! message=6!
io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions gracePeriodSeconds=1* preconditions=2* orphanDependents=3* propagationPolicy=4* dryRun=5 ignoreStoreReadErrorWithClusterBreakingPotential=6*
io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement key=1! operator=2! values=3
io.k8s.apimachinery.pkg.apis.meta.v1.GroupResource group=1! resource=2!
io.k8s.apimachinery.pkg.apis.meta.v1.GroupVersionForDiscovery groupVersion=1! version=2!
io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector matchLabels=1 matchExpressions=2
io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement key=1! operator=2! values=3
io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta selfLink=1 resourceVersion=2 continue=3 remainingItemCount=4* shardInfo=5*
io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry manager=1 operation=2 apiVersion=3 time=4* fieldsType=6 fieldsV1=7* subresource=8
io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta name=1 generateName=2 namespace=3 selfLink=4 uid=5 resourceVersion=6 generation=7 creationTimestamp=8 deletionTimestamp=9* deletionGracePeriodSeconds=10* labels=11 annotations=12 ownerReferences=13 finalizers=14 managedFields=17
io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference apiVersion=5! kind=1! name=3! uid=4! controller=6* blockOwnerDeletion=7*
io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions uid=1* resourceVersion=2*
io.k8s.apimachinery.pkg.apis.meta.v1.ServerAddressByClientCIDR clientCIDR=1! serverAddress=2!
io.k8s.apimachinery.pkg.apis.meta.v1.ShardInfo selector=1!
io.k8s.apimachinery.pkg.apis.meta.v1.Status metadata=1 status=2 message=3 reason=4 details=5* code=6
io.k8s.apimachinery.pkg.apis.meta.v1.StatusCause reason=1 message=2 field=3
io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails name=1 group=2 kind=3 uid=6 causes=4 retryAfterSeconds=5
io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService metadata=1 spec=2 status=3
io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceCondition type=1! status=2! lastTransitionTime=3 reason=4 message=5
io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceList metadata=1 items=2!
io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceSpec service=1* group=2 version=3 insecureSkipTLSVerify=4 caBundle=5 groupPriorityMinimum=7! versionPriority=8!
io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceStatus conditions=1
io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference namespace=1 name=2 port=3*
`;
