# SPDX-License-Identifier: Apache-2.0
# __init__.py - torch.nn.modules: which file defines which class; a file is read when the first of its names is used.
import importlib

_files = {
    'module': ['Module'],
    'linear': ['Identity', 'Linear', 'Bilinear', 'NonDynamicallyQuantizableLinear'],
    'conv': ['Conv1d', 'Conv2d', 'Conv3d', 'ConvTranspose1d', 'ConvTranspose2d', 'ConvTranspose3d'],
    'activation': ['Threshold', 'ReLU', 'Hardtanh', 'ReLU6', 'Sigmoid', 'Tanh', 'Softmax', 'Softmax2d', 'LogSoftmax', 'ELU',
                   'SELU', 'CELU', 'GELU', 'Hardshrink', 'LeakyReLU', 'LogSigmoid', 'Softplus', 'Softshrink',
                   'MultiheadAttention', 'PReLU', 'Softsign', 'Softmin', 'Tanhshrink', 'RReLU', 'GLU', 'Hardsigmoid',
                   'Hardswish', 'SiLU', 'Mish'],
    'loss': ['L1Loss', 'NLLLoss', 'KLDivLoss', 'MSELoss', 'BCELoss', 'BCEWithLogitsLoss', 'NLLLoss2d', 'CosineEmbeddingLoss',
             'CTCLoss', 'HingeEmbeddingLoss', 'MarginRankingLoss', 'MultiLabelMarginLoss', 'MultiLabelSoftMarginLoss',
             'MultiMarginLoss', 'SmoothL1Loss', 'HuberLoss', 'SoftMarginLoss', 'CrossEntropyLoss', 'TripletMarginLoss',
             'TripletMarginWithDistanceLoss', 'PoissonNLLLoss', 'GaussianNLLLoss'],
    'container': ['Container', 'Sequential', 'ModuleList', 'ModuleDict', 'ParameterList', 'ParameterDict'],
    'pooling': ['AvgPool1d', 'AvgPool2d', 'AvgPool3d', 'MaxPool1d', 'MaxPool2d', 'MaxPool3d', 'MaxUnpool1d', 'MaxUnpool2d',
                'MaxUnpool3d', 'FractionalMaxPool2d', 'FractionalMaxPool3d', 'LPPool1d', 'LPPool2d', 'LPPool3d',
                'AdaptiveMaxPool1d', 'AdaptiveMaxPool2d', 'AdaptiveMaxPool3d', 'AdaptiveAvgPool1d', 'AdaptiveAvgPool2d', 'AdaptiveAvgPool3d'],
    'batchnorm': ['BatchNorm1d', 'BatchNorm2d', 'BatchNorm3d', 'SyncBatchNorm'],
    'instancenorm': ['InstanceNorm1d', 'InstanceNorm2d', 'InstanceNorm3d'],
    'normalization': ['LocalResponseNorm', 'CrossMapLRN2d', 'LayerNorm', 'GroupNorm', 'RMSNorm'],
    'dropout': ['Dropout', 'Dropout1d', 'Dropout2d', 'Dropout3d', 'AlphaDropout', 'FeatureAlphaDropout'],
    'padding': ['ReflectionPad1d', 'ReflectionPad2d', 'ReflectionPad3d', 'ReplicationPad1d', 'ReplicationPad2d',
                'ReplicationPad3d', 'ZeroPad1d', 'ZeroPad2d', 'ZeroPad3d', 'ConstantPad1d', 'ConstantPad2d', 'ConstantPad3d',
                'CircularPad1d', 'CircularPad2d', 'CircularPad3d'],
    'sparse': ['Embedding', 'EmbeddingBag'],
    'rnn': ['RNNBase', 'RNN', 'LSTM', 'GRU', 'RNNCellBase', 'RNNCell', 'LSTMCell', 'GRUCell'],
    'pixelshuffle': ['PixelShuffle', 'PixelUnshuffle'],
    'upsampling': ['UpsamplingNearest2d', 'UpsamplingBilinear2d', 'Upsample'],
    'distance': ['PairwiseDistance', 'CosineSimilarity'],
    'fold': ['Fold', 'Unfold'],
    'adaptive': ['AdaptiveLogSoftmaxWithLoss'],
    'transformer': ['TransformerEncoder', 'TransformerDecoder', 'TransformerEncoderLayer', 'TransformerDecoderLayer',
                    'Transformer'],
    'flatten': ['Flatten', 'Unflatten'],
    'channelshuffle': ['ChannelShuffle'],
    'lazy': ['LazyLinear'] + ['Lazy' + kind + dims for kind in ('Conv', 'ConvTranspose', 'BatchNorm', 'InstanceNorm')
                              for dims in ('1d', '2d', '3d')],
    'utils': [],
}

_places = {}
for _file, _names in _files.items():
    for _name in _names:
        _places[_name] = _file
__all__ = [_name for _name in _places if _name != 'NonDynamicallyQuantizableLinear']


def __getattr__(name):
    if name in _files:
        return importlib.import_module(__name__ + '.' + name)
    if name in _places:
        return getattr(importlib.import_module(__name__ + '.' + _places[name]), name)
    raise AttributeError("module '{}' has no attribute '{}'".format(__name__, name))
