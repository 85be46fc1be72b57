"""The chat template of TLiveOmni checkpoints that this project writes: Qwen's format, with audio."""

from __future__ import annotations

CHAT_TEMPLATE = """\
{%- macro content_of(content) -%}
{%- if content is string -%}{{ content }}
{%- else -%}
{%- for part in content -%}
{%- if part.type in ('image', 'image_url') or 'image' in part -%}
<|vision_start|><|image_pad|><|vision_end|>
{%- elif part.type in ('video', 'video_url') or 'video' in part -%}
<|vision_start|><|video_pad|><|vision_end|>
{%- elif part.type in ('audio', 'audio_url', 'input_audio') or 'audio' in part -%}
<|audio_start|><|audio_pad|><|audio_end|>
{%- elif 'text' in part -%}
{{ part.text }}
{%- endif -%}
{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
{%- for message in messages -%}
{{ '<|im_start|>' + message.role + '\\n' }}{{ content_of(message.content) }}{{ '<|im_end|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ '<|im_start|>assistant\\n' }}
{%- endif -%}
"""
"""A video whose sound is interleaved with it is written as a video alone; its sound has no part of its own."""
